// Package cloudtest finds the command line tools of clouds that scripts/cloud-tools.sh installs, for tests.
package cloudtest

import (
	"os"
	"path/filepath"
	"testing"

	"nearfar/internal/kits/moduleroot"
)

// Folder is the folder with the programs of a cloud: azure or aws. It fails the test if they are not installed.
func Folder(t testing.TB, cloud string) string {
	t.Helper()
	folder, err := find(cloud)
	if err != nil {
		t.Fatalf("the programs of %s are missing: %v\nscripts/install-tools.sh test installs them", cloud, err)
	}
	return folder
}

// find finds the environment of a list of versions, which scripts/cloud-tools.sh makes.
func find(cloud string) (string, error) {
	folder, err := moduleroot.Built("cloud-"+cloud, "scripts/cloud-"+cloud+".txt")
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "complete"))
	}
	return filepath.Join(folder, "bin"), err
}
