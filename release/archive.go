package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A packedFile is a file of an archive or a package: where it is, and its name and mode there.
type packedFile struct {
	from, name string
	mode       os.FileMode
}

// makeArchives makes the archive of each system.
func (r *release) makeArchives() error {
	for _, t := range targets() {
		files, err := r.contents(t)
		if err != nil {
			return err
		}
		pack := writeTar
		if t.os == "windows" {
			pack = writeZip
		}
		if err := r.writeArchive(r.archive(t), files, pack); err != nil {
			return fmt.Errorf("%s: %w", r.archive(t), err)
		}
	}
	return nil
}

// contents lists the files of a system's archive by name. All are in one folder, which has the name of the archive.
func (r *release) contents(t target) ([]packedFile, error) {
	files := []packedFile{
		{filepath.Join(r.programs, t.program("nearfar-"+t.String())), t.program("nearfar"), 0o755},
		{filepath.Join(r.source, "LICENSE"), "LICENSE", 0o644},
		{filepath.Join(r.source, "README.md"), "README.md", 0o644},
		{filepath.Join(r.source, "CHANGELOG.md"), "CHANGELOG.md", 0o644},
	}
	for _, folder := range []string{"completions", "man"} {
		texts, err := os.ReadDir(filepath.Join(r.texts, folder))
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			from := filepath.Join(r.texts, folder, text.Name())
			files = append(files, packedFile{from, folder + "/" + text.Name(), 0o644})
		}
	}
	for i := range files {
		files[i].name = path.Join(r.named(t.String()), files[i].name)
	}
	slices.SortFunc(files, func(a, b packedFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// writeArchive writes files into an archive of the release.
func (r *release) writeArchive(
	name string, files []packedFile, pack func(io.Writer, []packedFile, time.Time) error,
) error {
	out, err := os.OpenFile(filepath.Join(r.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(pack(out, files, r.time), out.Chmod(0o644), out.Close())
}

// writeTar writes a compressed tar archive. It has no owners, and no name and time in its compression.
func writeTar(w io.Writer, files []packedFile, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(content)), ModTime: at,
			Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

// writeZip writes a zip archive.
func writeZip(w io.Writer, files []packedFile, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}
