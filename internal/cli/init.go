package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/experiment"
)

//go:embed templates
var templates embed.FS

// template is a commented experiment file to begin with.
type template struct{ name, about string }

// templateList gives the templates, the default first.
func templateList() []template {
	return []template{
		{"paths", "paths of a lab against each other: what a router, VXLAN and a firewall add"},
		{"knobs", "one path, and what the options of a socket do on it"},
		{"load", "requests at given rates: response times, and a gate for CI"},
	}
}

func templateNames() []string {
	var names []string
	for _, t := range templateList() {
		names = append(names, t.name)
	}
	return names
}

// templateText gives the experiment file of that name.
func templateText(name string) ([]byte, error) {
	return templates.ReadFile("templates/" + name + ".yaml")
}

func (a *app) initCommand() *cobra.Command {
	var force bool
	var list strings.Builder
	for _, t := range templateList() {
		fmt.Fprintf(&list, "\n  %-7s %s", t.name, t.about)
	}
	cmd := &cobra.Command{
		Use:   "init [TEMPLATE] [FILE]",
		Short: "Write a commented experiment file to begin with",
		Long: `Init writes an experiment file with comments that say what can be changed, from one of these templates:
` + list.String() + `

Without TEMPLATE it takes the first, without FILE it writes experiment.yaml in the current directory; "-" writes to standard
output. A file that is there already is left as it is, unless --force is given.`,
		Example: `  nearfar init
  nearfar init load
  nearfar init knobs sockets.yaml
  nearfar init load - | less`,
		Args: usageArgs(cobra.MaximumNArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			name, file, err := initArguments(args)
			if err != nil {
				return &usageError{err}
			}
			text, err := templateText(name)
			if err != nil {
				return err
			}
			if file == "-" {
				_, err := a.stdout.Write(text)
				return err
			}
			if err := createFile(file, text, force); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "Wrote %s. Measure with: nearfar run %s\n", cell(file), cell(file))
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite a file that is there already")
	return cmd
}

// initArguments says which template is meant, and which file. A single argument that can only be a file is one.
func initArguments(args []string) (name, file string, err error) {
	name, file = templateNames()[0], "experiment.yaml"
	switch {
	case len(args) == 2:
		name, file = args[0], args[1]
	case len(args) == 1 && (args[0] == "-" || filepath.Ext(args[0]) == ".yaml" || filepath.Ext(args[0]) == ".yml"):
		file = args[0]
	case len(args) == 1:
		name = args[0]
	}
	for _, known := range templateNames() {
		if name == known {
			return name, file, nil
		}
	}
	return "", "", fmt.Errorf("there is no template %q: %s", name, experiment.Suggest(name, templateNames()))
}

// createFile writes a file that is not there yet, or with force any.
func createFile(name string, data []byte, force bool) (err error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{fmt.Errorf("%s is there already: choose another name, or overwrite it with --force", cell(name))}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}
