package schema

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

const referencePage = "../../../../docs/reference.md"

// The page is what the program makes of its schema.
func TestReferencePage(t *testing.T) {
	if *update {
		if err := os.WriteFile(referencePage, Reference(testTools), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(page), string(Reference(testTools))); diff != "" {
		t.Errorf("docs/reference.md is behind the schema; "+
			"go test ./internal/declare/experiment/schema -run ReferencePage -update (-page +schema):\n%s", diff)
	}
}

// Every key has a row, and every link a heading to go to.
func TestReferenceIsWhole(t *testing.T) {
	page := string(Reference(testTools))
	for _, keys := range [][]string{
		experiment.KeysOf("experiment"), experiment.KeysOf("schedule"), experiment.WorkloadKeys(), experiment.KeysOf("lab"),
		experiment.KeysOf("host"), experiment.KeysOf("kubernetes"), experiment.KeysOf("pod"), check.Expectations(),
	} {
		for _, key := range keys {
			if !strings.Contains(page, "| `"+key+"` |") {
				t.Errorf("no row for %s", key)
			}
		}
	}
	links := regexp.MustCompile(`\]\(#([a-z_-]+)\)`).FindAllStringSubmatch(page, -1)
	if len(links) == 0 {
		t.Fatal("no links")
	}
	for _, link := range links {
		if link[1] != "kinds-of-values" && !strings.Contains(page, "\n## `"+link[1]+"`\n") {
			t.Errorf("a link to #%s, and no such heading", link[1])
		}
	}
}
