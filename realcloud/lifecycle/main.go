// Lifecycle looks up what the files of labs name (sizes, images, versions of Kubernetes) in the table of retirements.
// It warns of what ends within 90 days, and fails for what cannot be made any more, and for what the table lacks.
//
//	go run ./realcloud/lifecycle labs
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"nearfar/internal/cloud/preflight"
)

func main() {
	folder := "labs"
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	if err := look(os.DirFS(folder), os.Stderr, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A named is what a file names, and where.
type named struct {
	file string
	line int
	name string
}

// look looks up what the files of a folder name. The error lists what stops a lab, or what nobody has looked up.
func look(folder fs.FS, out io.Writer, today time.Time) error {
	table, err := preflight.Retirements()
	if err != nil {
		return err
	}
	all, err := names(folder)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errors.New("the files name no size and no image: is this the folder of the labs?")
	}
	var problems []error
	for _, n := range all {
		r, there := preflight.Retired(table, n.name)
		switch warning := r.Warning(today); {
		case !there:
			problems = append(problems, fmt.Errorf("%s:%d: %s is not in internal/cloud/preflight/lifecycle.json: add it "+
				"with its date and the provider's page, or with the reason why there is none", n.file, n.line, n.name))
		case r.Ended(today):
			problems = append(problems, fmt.Errorf("%s:%d: %s: %s", n.file, n.line, n.name, warning))
		case warning != "":
			fmt.Fprintf(out, "warning: %s:%d: %s: %s\n", n.file, n.line, n.name, warning)
		}
	}
	return errors.Join(problems...)
}

// patterns match what files of labs name. The group is the name.
func patterns() []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, text := range []string{
		`\b(Standard_[A-Z]+\d[A-Za-z0-9_]*)`, // sizes of Azure
		`\b(ubuntu-\d+_\d+-lts|ubuntu-\d+-lts-[a-z0-9]+|Ubuntu\d{4}|Windows20\d\d|20\d\d-datacenter[a-z0-9-]*)`, // images
		`\b(al20\d\d-ami-kernel-default-|AL20\d\d_[A-Za-z0-9_]+)`,
		`["']([cmrt]\d[a-z]*\.\d*x?(?:large|medium|small|micro|metal))["']`, // types of EC2
		`["']([a-z]\d[a-z]*-(?:standard|highcpu|highmem)-\d+)["']`,          // types of Google
	} {
		all = append(all, regexp.MustCompile(text))
	}
	return all
}

// version matches the version of Kubernetes that a module names as its default.
func version() *regexp.Regexp {
	return regexp.MustCompile(`(?s)variable "kubernetes_version" \{[^}]*?default\s*=\s*"(1\.\d+)"`)
}

// names reads the files of modules, scripts, apps and experiments, without comments.
func names(folder fs.FS) (all []named, err error) {
	known := patterns()
	err = fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"node_modules", ".nearfar", ".terraform", "cdk.out"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".tf", ".sh", ".ts", ".yaml"}, filepath.Ext(path)):
			return nil
		}
		text, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "# ")
			for _, pattern := range known {
				for _, match := range pattern.FindAllStringSubmatch(code, -1) {
					n := named{path, i + 1, match[1]}
					if !slices.Contains(all, n) {
						all = append(all, n)
					}
				}
			}
		}
		if match := version().FindStringSubmatch(string(text)); match != nil {
			prefix := "aks-"
			if strings.Contains(path, "eks") {
				prefix = "eks-"
			}
			all = append(all, named{path, 1, prefix + match[1]})
		}
		return nil
	})
	return all, err
}
