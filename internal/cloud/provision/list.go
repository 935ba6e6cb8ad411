package provision

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/files"
)

// The index of a user is a folder with a file for each folder that has a record. So machines are found from everywhere.

// indexFolder is the index: below the folder for state of the XDG base directory specification, on Windows below the
// folder for local data of programs.
func indexFolder() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" && runtime.GOOS == "windows" {
		base = os.Getenv("LOCALAPPDATA")
	}
	if !filepath.IsAbs(base) { // the specification has relative paths ignored
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "nearfar", "provisioned"), nil
}

// entry is the file of this project in the index.
func (p *Project) entry() (string, error) {
	index, err := indexFolder()
	return filepath.Join(index, fmt.Sprintf("%x", sha256.Sum256([]byte(p.folder)))[:32]), err
}

// index adds the project to the index.
func (p *Project) index() error {
	entry, err := p.entry()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(entry), 0o700)
	}
	if err != nil {
		return fmt.Errorf("the index of machines: %w", err)
	}
	return files.WriteWhole(entry, []byte(p.folder+"\n"))
}

// unindex takes the project out of the index.
func (p *Project) unindex() error {
	entry, err := p.entry()
	if err != nil {
		return nil // then there is no index
	}
	return removeFile(entry)
}

// Expired finds the records of this user's machines that are past their time. Unlike List, it looks only into the
// index: a folder from elsewhere can have a record too, and deleting expired machines runs the programs of a module.
func Expired(now time.Time) (records []*Record, problems []error) {
	records, problems = readRecords(indexed())
	current := func(r *Record) bool { return r.Until.IsZero() || !now.After(r.Until) }
	return slices.DeleteFunc(records, current), problems
}

// readRecords reads the records of folders, as far as there are some.
func readRecords(folders []string) (records []*Record, problems []error) {
	for _, folder := range folders {
		r, err := readRecord(folder)
		switch {
		case err != nil:
			problems = append(problems, err)
		case r != nil:
			records = append(records, r)
		}
	}
	return records, problems
}

// indexed lists the folders of the index.
func indexed() (folders []string) {
	index, err := indexFolder()
	if err != nil {
		return nil // then there is no index
	}
	for _, name := range namesIn(index) {
		data, err := files.ReadRegular(filepath.Join(index, name), maxPath)
		if path := strings.TrimSpace(string(data)); err == nil && filepath.IsAbs(path) && len(path) <= maxPath {
			folders = append(folders, path)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

const (
	maxListed = 10_000
	maxPath   = 4096 // bytes
)

// List finds the records of all machines of this user: those of the index, and those below a folder. problems are
// records that cannot be read.
func List(below string) (records []*Record, problems []error) {
	folders := indexed()
	if below, err := filepath.Abs(below); err == nil {
		for _, name := range namesIn(filepath.Join(below, Folder)) {
			folders = append(folders, filepath.Join(below, Folder, name))
		}
	}
	slices.Sort(folders)
	return readRecords(slices.Compact(folders))
}

// namesIn lists the entries of a folder, at most maxListed. A folder that cannot be read has none.
func namesIn(folder string) (names []string) {
	entries, _ := files.List(folder, maxListed)
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}
