package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
)

//go:embed templates
var templates embed.FS

// template is a commented experiment file for users to start from.
type template struct{ name, about string }

// templateList lists the templates, the default first.
func templateList() []template {
	return []template{
		{"paths", "several paths of a lab: what a router, VXLAN and a firewall add"},
		{"knobs", "one path: the effect of socket options"},
		{"load", "requests at given rates: response times, and a gate for CI"},
		{"ssh", "two machines of yours, reached by ssh: round trips and goodput"},
		{"kubernetes", "pods of a cluster: what the pod network and a Service cost"},
	}
}

func templateNames() []string {
	var names []string
	for _, t := range templateList() {
		names = append(names, t.name)
	}
	return names
}

// templateText returns the experiment file of a template.
func templateText(name string) ([]byte, error) {
	return templates.ReadFile("templates/" + name + ".yaml")
}

func (a *app) initCommand() *cobra.Command {
	var force bool
	var list strings.Builder
	for _, t := range templateList() {
		fmt.Fprintf(&list, "\n  %-10s %s", t.name, t.about)
	}
	cmd := &cobra.Command{
		Use:   "init [TEMPLATE] [FILE]",
		Short: "Write a commented experiment file to start from",
		Long: `Init writes an experiment file with comments that say what can be changed. The templates are:
` + list.String() + `

Without TEMPLATE it takes the first. Without FILE it writes experiment.yaml in the current directory; "-" writes to
standard output. It overwrites an existing file only with --force.`,
		Example: `  nearfar init
  nearfar init load
  nearfar init ssh
  nearfar init kubernetes
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
			file = clean.Line(file)
			_, err = fmt.Fprintf(a.stdout, "Wrote %s. Measure with: nearfar run %s\n", file, file)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	return cmd
}

// initArguments reads the template's name and the file's name. A single argument that is "-" or ends in .yaml or .yml
// is the file.
func initArguments(args []string) (name, file string, err error) {
	name, file = templateNames()[0], defaultExperiment
	switch {
	case len(args) == 2:
		name, file = args[0], args[1]
	case len(args) == 1 && (args[0] == "-" || filepath.Ext(args[0]) == ".yaml" || filepath.Ext(args[0]) == ".yml"):
		file = args[0]
	case len(args) == 1:
		name = args[0]
	}
	if slices.Contains(templateNames(), name) {
		return name, file, nil
	}
	return "", "", fmt.Errorf("there is no template %q: %s", name, experiment.Suggest(name, templateNames()))
}

// createFile writes a file. It overwrites an existing file only with force.
func createFile(name string, data []byte, force bool) (err error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists already: choose another name, or overwrite it with --force",
			clean.Line(name))
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	return err
}
