package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// makeChart makes the chart for Helm, with the version and the project's page in it: an archive as `helm package` makes
// it.
func (r *release) makeChart() error {
	chart := filepath.Join(r.source, "release", "chart")
	var files []packedFile
	err := filepath.WalkDir(chart, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(chart, file)
		if err == nil {
			files = append(files, packedFile{file, path.Join("nearfar", filepath.ToSlash(name)), 0o644})
		}
		return err
	})
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "nearfar-chart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	about := filepath.Join(work, "Chart.yaml")
	if err := r.writeChartAbout(filepath.Join(chart, "Chart.yaml"), about); err != nil {
		return err
	}
	for i, file := range files {
		if file.name == "nearfar/Chart.yaml" {
			files[i].from = about
		}
	}
	return r.writeArchive(r.named("chart")+".tgz", files, writeTar)
}

// writeChartAbout writes Chart.yaml of the release.
func (r *release) writeChartAbout(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	text := string(content)
	for key, value := range map[string]string{"version": r.version, "appVersion": r.version, "home": r.home()} {
		line := regexp.MustCompile(`(?m)^` + key + `: .*$`)
		if len(line.FindAllString(text, -1)) != 1 {
			return fmt.Errorf("%s has not one %s", from, key)
		}
		text = line.ReplaceAllLiteralString(text, key+": "+value)
	}
	return os.WriteFile(to, []byte(strings.TrimSpace(text)+"\n"), 0o600)
}
