package agent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Names below the agent's folder.
const (
	rootName      = "files"     // what the owner put under relative paths; where processes are started; their TMPDIR
	temporaryName = "temporary" // output of processes
	journalName   = "put"       // paths outside the folder that the agent has made, one a line, as JSON
)

// files are the files that the owner put. Files outside the agent's folder are entered in a journal before they are
// made, so that another process can remove them if the agent is killed.
type files struct {
	folder, root, temporary string

	mu      sync.Mutex
	journal *os.File
	made    map[string]bool // what is in the journal
	closed  bool
}

func newFiles(folder string) (*files, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	f := &files{
		folder: folder, root: filepath.Join(folder, rootName), temporary: filepath.Join(folder, temporaryName),
		made: map[string]bool{},
	}
	for _, dir := range []string{f.root, f.temporary} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, errors.Join(err, RemoveFiles(folder))
		}
	}
	const how = os.O_CREATE | os.O_EXCL | os.O_WRONLY | os.O_APPEND
	f.journal, err = os.OpenFile(filepath.Join(folder, journalName), how, 0o600)
	if err != nil {
		return nil, errors.Join(err, RemoveFiles(folder))
	}
	return f, nil
}

// put writes a file of the given size, whole or not at all, and makes its parent directories.
func (f *files) put(path string, mode fs.FileMode, content io.Reader, size int64) error {
	// Without the lock, because the content may come slowly.
	whole := filepath.Join(f.temporary, "put-"+randomHex(8))
	defer func() { _ = os.Remove(whole) }()
	if err := writeFile(whole, 0o600, content, size); err != nil {
		return err
	}
	source, err := os.Open(whole)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errEnding
	}
	target := filepath.Clean(path)
	if filepath.IsAbs(path) {
		_, err := os.Lstat(target)
		if err == nil && !f.made[target] && !f.inside(target) {
			return fmt.Errorf("%s exists already, and the agent did not put it there: choose another path", target)
		}
	} else if filepath.IsLocal(path) {
		target = filepath.Join(f.root, path)
	} else {
		return fmt.Errorf("%q leaves the agent's folder", path)
	}
	if err := f.makeParents(filepath.Dir(target)); err != nil {
		return err
	}
	if err := f.enter(target); err != nil {
		return err
	}
	temporary := target + ".put-" + randomHex(4)
	if err := f.enter(temporary); err != nil {
		return err
	}
	err = writeFile(temporary, mode.Perm(), source, size)
	if err == nil {
		err = os.Rename(temporary, target)
	}
	if err != nil {
		_ = os.Remove(temporary)
	}
	return err
}

func writeFile(path string, mode fs.FileMode, content io.Reader, size int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, content)
	if err == nil && n != size {
		err = fmt.Errorf("%w: a file of another length", errProtocol)
	}
	if err == nil {
		err = file.Chmod(mode)
	}
	return errors.Join(err, file.Close())
}

// inside says whether a path is below the agent's folder, which is removed as a whole.
func (f *files) inside(path string) bool {
	return strings.HasPrefix(path, f.root+string(filepath.Separator))
}

// makeParents makes a directory and the ones above it that are missing.
func (f *files) makeParents(dir string) error {
	_, err := os.Stat(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.makeParents(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := f.enter(dir); err != nil {
		return err
	}
	err = os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// enter writes a path into the journal, before it is made.
func (f *files) enter(path string) error {
	if f.made[path] || f.inside(path) {
		return nil
	}
	b, err := json.Marshal([]byte(path))
	if err != nil {
		return err
	}
	if _, err := f.journal.Write(append(b, '\n')); err != nil {
		return err
	}
	f.made[path] = true
	return nil
}

// removeAll removes all files that were put, and what the agent made in its folder.
func (f *files) removeAll() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return errors.Join(f.journal.Close(), RemoveFiles(f.folder))
}

// RemoveFiles removes the files and directories that the agent of a folder has put and made, also if the agent was
// killed. It may be repeated. A directory stays if another program has put something into it.
func RemoveFiles(folder string) error {
	var paths []string
	journal, err := os.Open(filepath.Join(folder, journalName))
	if err == nil {
		lines := bufio.NewScanner(journal)
		lines.Buffer(nil, maxMessage)
		for lines.Scan() {
			var path []byte
			if json.Unmarshal(lines.Bytes(), &path) == nil { // the last line may be cut
				paths = append(paths, string(path))
			}
		}
		err = errors.Join(lines.Err(), journal.Close())
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for i := len(paths) - 1; i >= 0; i-- {
		if e := os.Remove(paths[i]); e != nil && !errors.Is(e, fs.ErrNotExist) && !isDirectory(paths[i]) {
			err = errors.Join(err, e)
		}
	}
	for _, name := range []string{rootName, temporaryName, journalName} {
		err = errors.Join(err, removeTree(filepath.Join(folder, name)))
	}
	return err
}

// removeTree removes a file or a folder with all that is in it.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil || runtime.GOOS != "windows" {
		return err
	}
	// One by one: os.RemoveAll needs a call that Wine 8 lacks (NtSetInformationFile, FileDispositionInformationEx).
	entries, _ := os.ReadDir(path) // Remove says what is left
	for _, e := range entries {
		_ = removeTree(filepath.Join(path, e.Name()))
	}
	return os.Remove(path)
}

func isDirectory(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
