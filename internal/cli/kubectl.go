package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/lazyregexp"
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

// typed writes the commands in a text as the user types them.
func (a *app) typed(text string) string {
	if !a.plugin {
		return text
	}
	return commands.ReplaceAllString(text, asTyped+" $1")
}

// commands are commands in texts: nearfar and a verb.
var commands = lazyregexp.New(`(?:kubectl )?\bnearfar ((?:agent|baseline|bisect|check|compare|completion|doctor|` +
	`down|engine|gate|help|history|image|import|init|inside|kube|ls|migrate-pool|report|run|schema|serve|up|` +
	`validate|version)\b)`)
