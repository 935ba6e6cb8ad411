package provision

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completed is an event of OpenTofu for a resource on which something was done.
func completed(action, address, id string) string {
	return fmt.Sprintf(
		`{"type":"apply_complete","hook":{"resource":{"addr":%q},"action":%q,"id_key":"id","id_value":%q}}`, address,
		action, id)
}

func TestMadeLast(t *testing.T) {
	p := &Project{folder: t.TempDir()}
	if made, more := p.madeLast(); len(made) > 0 || more > 0 {
		t.Errorf("without a file: %v, %d", made, more)
	}
	long := strings.Repeat("x", maxLost)
	lines := []string{
		`{"type":"apply_start","hook":{"resource":{"addr":"a.begun"},"action":"create"}}`,
		completed("create", "a.one", "1"), "no event", completed("delete", "a.old", "0"),
		completed("update", "a.two", "2"),
		completed("create", "a.long", long), completed("create", "a.three", "3"), completed("create", "a.unknown", ""),
		completed("create", "a.cut off", "4")[:40],
	}
	if err := os.WriteFile(filepath.Join(p.folder, outFile), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	made, more := p.madeLast()
	want := []Lost{{"a.one", "1"}, {"a.three", "3"}, {"a.unknown", ""}}
	if !slices.Equal(made, want) || more != 1 {
		t.Errorf("%v and %d more, want %v and 1 more", made, more, want)
	}
	for l, says := range map[Lost]string{want[0]: `its id is "1"`, want[2]: "its id is not known"} {
		if !strings.Contains(l.String(), says) {
			t.Errorf("%v does not say %q", l, says)
		}
	}
}

// Only a local state that is there and not whole is emptied: a module can keep its state elsewhere.
func TestEmptied(t *testing.T) {
	p := &Project{folder: t.TempDir()}
	for text, want := range map[string]bool{"": true, `{"version": 4`: true, "{}": false} {
		if err := os.WriteFile(p.state(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if emptied, err := p.emptied(); err != nil || emptied != want {
			t.Errorf("%q: %v, %v", text, emptied, err)
		}
	}
	if err := os.Remove(p.state()); err != nil {
		t.Fatal(err)
	}
	if emptied, err := p.emptied(); err != nil || emptied {
		t.Errorf("no state: %v, %v", emptied, err)
	}
}
