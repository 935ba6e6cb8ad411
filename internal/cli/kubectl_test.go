package cli

import (
	"slices"
	"strings"
	"testing"
)

// By its names for kubectl, the program is the plugin, and what completes for it.
func TestAsPlugin(t *testing.T) {
	for path, want := range map[string]struct {
		plugin bool
		args   []string
	}{
		"nearfar": {false, []string{"run"}}, "/usr/bin/nearfar": {false, []string{"run"}},
		"/x/kubectl-nearfar": {true, []string{"run"}}, "kubectl-nearfar.exe": {true, []string{"run"}},
		"/x/kubectl_complete-nearfar": {true, []string{"__complete", "run"}},
		"/kubectl-nearfar/nearfar":    {false, []string{"run"}},
	} {
		if plugin, args := asPlugin(path, []string{"run"}); plugin != want.plugin || !slices.Equal(args, want.args) {
			t.Errorf("%s: %v, %q", path, plugin, args)
		}
	}
}

// Every verb of the help is written as users of the plugin type it, and prose stays.
func TestTyped(t *testing.T) {
	plugin, plain := &app{plugin: true}, &app{}
	for _, group := range verbGroups() {
		for _, verb := range group.verbs {
			text := "see `nearfar " + verb + "`"
			if got := plugin.typed(text); got != "see `kubectl nearfar "+verb+"`" {
				t.Errorf("%s becomes %s", text, got)
			}
			if got := plain.typed(text); got != text {
				t.Errorf("%s becomes %s", text, got)
			}
		}
	}
	for _, text := range []string{"nearfar makes the same bytes", "nearfar runs", "nearfar-agent run", "nearfar: up"} {
		if got := plugin.typed(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := plugin.typed("kubectl nearfar run"); got != "kubectl nearfar run" {
		t.Errorf("%q", got)
	}
	if got := plugin.typed("nearfar report\nnearfar run"); strings.Count(got, "kubectl nearfar") != 2 {
		t.Errorf("%q", got)
	}
}
