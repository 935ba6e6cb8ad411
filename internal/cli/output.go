package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"nearfar/internal/base/clean"
)

// resultFormats are the formats of verbs whose result is not an answer, the default first.
func resultFormats() []string { return []string{"terminal", "json"} }

// writeJSON writes a result for programs.
func (a *app) writeJSON(result any) error {
	encoder := json.NewEncoder(a.data())
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

// textIf is the text if the condition holds, and empty otherwise.
func textIf(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// checkOutput checks that the file of a flag can be written, before anything is measured or read, and without changing
// it. "-" means standard output, as if the flag were not given.
func checkOutput(flag string, name *string) error {
	if *name == "-" {
		*name = ""
	}
	if *name == "" {
		return nil
	}
	wrong := func(err error) error {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return usagef("%s %s: it cannot be written: %w", flag, clean.Line(*name), err)
	}
	info, err := os.Stat(*name)
	switch {
	case err == nil && info.IsDir():
		return usagef("%s %s is a directory: name a file in it", flag, clean.Line(*name))
	case err == nil && !info.Mode().IsRegular():
		return nil // a pipe or a device: opening it can wait for its reader
	case err == nil:
		f, err := os.OpenFile(*name, os.O_WRONLY, 0) // #nosec G304 -- the user names the file
		if err != nil {
			return wrong(err)
		}
		return f.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return wrong(err)
	}
	folder := filepath.Dir(*name)
	if info, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return usagef("%s %s: there is no directory %s", flag, clean.Line(*name), clean.Line(folder))
	} else if err == nil && !info.IsDir() {
		return usagef("%s %s: %s is not a directory", flag, clean.Line(*name), clean.Line(folder))
	}
	if err := writableFolder(folder); err != nil {
		return wrong(err)
	}
	return nil
}

// checkFolder checks that a directory can be made at this path, or that files can be made in it, without leaving any.
func checkFolder(flag, name string) error {
	for at := filepath.Clean(name); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at):
			continue
		case err == nil && !info.IsDir():
			return usagef("%s %s: %s is not a directory", flag, clean.Line(name), clean.Line(at))
		case err == nil:
			err = writableFolder(at)
		}
		if err != nil {
			return usagef("%s %s: it cannot be written: %w", flag, clean.Line(name), err)
		}
		return nil
	}
}

// writableFolder makes a file in a directory, and removes it.
func writableFolder(path string) error {
	f, err := os.CreateTemp(path, ".nearfar-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
