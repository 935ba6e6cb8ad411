package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The names by which kubectl calls a plugin, and the program that completes what is typed for it
// (https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins). The program does the same under both and its own.
const (
	pluginName     = "kubectl-nearfar"
	completionName = "kubectl_complete-nearfar"
)

// asTyped is what users of the plugin type.
const asTyped = "kubectl nearfar"

// asPlugin says whether the program was called as a plugin of kubectl, by its path, and which arguments it has then.
func asPlugin(path string, args []string) (plugin bool, its []string) {
	switch strings.TrimSuffix(filepath.Base(path), ".exe") {
	case pluginName:
		return true, args
	case completionName:
		return true, slices.Concat([]string{cobra.ShellCompRequestCmd}, args)
	}
	return false, args
}

// typed writes the commands in a text as the user types them. A command is nearfar and a verb of the help.
func (a *app) typed(text string) string {
	if !a.plugin {
		return text
	}
	var verbs []string
	for _, g := range verbGroups() {
		verbs = append(verbs, g.verbs...)
	}
	commands := regexp.MustCompile(`(?:kubectl )?\bnearfar ((?:` + strings.Join(verbs, "|") + `)\b)`)
	return commands.ReplaceAllString(text, asTyped+" $1")
}
