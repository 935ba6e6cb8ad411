package environment

import (
	"fmt"
	"strings"
	"testing"
)

// TestHostsOfAMesh: the pods of a mesh of 56 pairs are not listed pod by pod, and a pair not twice.
func TestHostsOfAMesh(t *testing.T) {
	m := Machine{System: "Linux", Kernel: "6.1"}
	for i := range 56 {
		m.Hosts = append(m.Hosts, fmt.Sprintf("p%02d/client", i), fmt.Sprintf("p%02d/server", i))
	}
	text := machinesText([]Machine{m})
	if want := "Hosts both of p00, both of p01, "; !strings.HasPrefix(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
	if !strings.Contains(text, "both of p07 and 48 more (112 in all), all alike: ") || strings.Count(text, "p00") != 1 {
		t.Errorf("got %q", text)
	}
	other := Machine{System: "Linux", Kernel: "6.2", Hosts: []string{"vm"}}
	text = machinesText([]Machine{m, other})
	if len(text) > 300 || !strings.HasSuffix(text, "; vm: Linux, kernel 6.2") {
		t.Errorf("got %q", text)
	}
	few := Machine{System: "Linux", Kernel: "6.1", Hosts: []string{"a/client", "a/server"}}
	if text := machinesText([]Machine{few}); !strings.HasPrefix(text, "Hosts a/client, a/server, both alike: ") {
		t.Errorf("got %q", text)
	}
}
