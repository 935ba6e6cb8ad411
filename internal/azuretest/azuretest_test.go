package azuretest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/cloudtest"
)

// The real az logs in, makes a group, lists it by its tag, and deletes it.
func TestAz(t *testing.T) {
	t.Parallel()
	c := New(t)
	c.Login()
	az := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(cloudtest.Folder(t, "azure"), "az"), args...)
		cmd.Env = append(os.Environ(), c.Env()...)
		var out, problems strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &problems
		if err := cmd.Run(); err != nil {
			t.Fatalf("az %q: %v\n%s\n%q", args, err, problems.String(), c.Requests())
		}
		return out.String()
	}
	az("group", "create", "--name", "g", "--location", Location, "--tags", "k=v")
	if got := az("group", "list", "--tag", "k=v", "--query", "[].name", "--output", "tsv"); got != "g\n" {
		t.Errorf("groups with the tag: %q", got)
	}
	if got := az("group", "list", "--tag", "k=other", "--output", "tsv"); got != "" {
		t.Errorf("groups with another tag: %q", got)
	}
	az("group", "delete", "--name", "g", "--yes")
	if left := c.Resources(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
