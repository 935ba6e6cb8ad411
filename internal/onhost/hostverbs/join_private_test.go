package hostverbs

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestJoinFileIsPrivate: a file that takes the join string is readable by its owner alone, before it has the string.
func TestJoinFileIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the modes of files are those of Unix")
	}
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "join.txt"), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := private(f); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
