//go:build !windows

package supervise

import "os"

// pipe makes a pipe.
func pipe(weRead bool) (ours, theirs *os.File, err error) {
	read, write, err := os.Pipe()
	if weRead {
		return read, write, err
	}
	return write, read, err
}

// createSpoolFile makes a file without a name: it ends with this process, however that ends.
func createSpoolFile(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, "output-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // where that is impossible, the spool removes it when it is closed
	return f, nil
}
