package schema

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

// fenced is a block of code of a markdown page.
type fenced struct{ info, text string }

func fencedBlocks(t *testing.T, path string) []fenced {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []fenced
	inside := false
	for line := range strings.Lines(string(page)) {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			blocks = append(blocks, fenced{info: strings.TrimSpace(info)})
			inside = true
		case fence:
			inside = false
		case inside:
			blocks[len(blocks)-1].text += line
		}
	}
	return blocks
}

// docsInputs sets the variables of the documentation's examples.
func docsInputs() experimentfile.Inputs {
	return experimentfile.Inputs{Variable: func(name string) (string, bool) {
		value, ok := map[string]string{"CLIENT": "vm-a", "SERVER": "vm-b", "WIN_JOIN": experiment.JoinPrefix + "1.x"}[name]
		return value, ok
	}}
}

// The examples of the documentation are right, or wrong with the messages that follow them, as the documentation says.
func TestExamplesOfTheDocumentation(t *testing.T) {
	right, wrong := 0, 0
	s := compiledSchema(t)
	blocks := fencedBlocks(t, "../../../../docs/experiment-file.md")
	for i, b := range blocks {
		switch b.info {
		case "yaml":
			right++
			if _, err := experimentfile.ParseWith("experiment.yaml", []byte(b.text), testTools, docsInputs()); err != nil {
				t.Errorf("%v\nin:\n%s", err, b.text)
			}
			value, err := asJSON(t, []byte(b.text))
			if err != nil {
				t.Errorf("%v\nin:\n%s", err, b.text)
				continue
			}
			if err := s.Validate(value); err != nil {
				t.Errorf("%v\nin:\n%s", err, b.text)
			}
		case "yaml wrong":
			wrong++
			_, err := experimentfile.Parse("experiment.yaml", []byte(b.text), testTools)
			if err == nil {
				t.Errorf("no mistake in:\n%s", b.text)
				continue
			}
			if i+1 == len(blocks) || blocks[i+1].info != "text" {
				t.Errorf("no messages follow:\n%s", b.text)
				continue
			}
			if diff := cmp.Diff(blocks[i+1].text, err.Error()+"\n"); diff != "" {
				t.Errorf("the page shows other messages (-page +parse):\n%s", diff)
			}
		}
	}
	if right < 5 || wrong < 1 {
		t.Errorf("%d right and %d wrong examples, want at least 5 and 1", right, wrong)
	}
}

// The experiments of the pages about HTTP and about applications are right.
func TestExamplesOfHTTP(t *testing.T) {
	s, found := compiledSchema(t), 0
	for _, b := range append(fencedBlocks(t, "../../../../docs/http.md"), fencedBlocks(t, "../../../../docs/app.md")...) {
		if b.info != "yaml" {
			continue
		}
		found++
		if _, err := experimentfile.Parse("experiment.yaml", []byte(b.text), testTools); err != nil {
			t.Errorf("%v\nin:\n%s", err, b.text)
		}
		if value, err := asJSON(t, []byte(b.text)); err != nil || s.Validate(value) != nil {
			t.Errorf("%v, %v\nin:\n%s", err, s.Validate(value), b.text)
		}
	}
	if found < 3 {
		t.Errorf("%d examples", found)
	}
}

// The experiments of the page about clusters are right. Its other blocks are manifests.
func TestExamplesOfClusters(t *testing.T) {
	found := 0
	for _, b := range fencedBlocks(t, "../../../../docs/kubernetes.md") {
		if b.info != "yaml" || !strings.HasPrefix(b.text, "nearfar:") {
			continue
		}
		found++
		e, err := experimentfile.Parse("experiment.yaml", []byte(b.text), testTools)
		if err != nil {
			t.Errorf("%v\nin:\n%s", err, b.text)
		} else if !e.HasPods() {
			t.Errorf("no arm has a pod:\n%s", b.text)
		}
	}
	if found == 0 {
		t.Error("no experiments were found")
	}
}

// The reference names every key, and every word that a key can have.
func TestDocumentationNamesEveryKey(t *testing.T) {
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	keys := experiment.KeysOf("experiment")
	for _, more := range [][]string{
		experiment.KeysOf("schedule"), experiment.KeysOf("arm"), check.Expectations(), experiment.UnprovedWords(),
		experiment.KeysOf("host"), experiment.KeysOf("lab"), experiment.KeysOf("kubernetes"), experiment.KeysOf("pod"),
		podWords("nodes"), podWords("through"), podWords("networkPolicy"), experiment.ElementKinds(),
		experiment.KeysOf(experiment.Wire), experiment.KeysOf(experiment.Firewall), experiment.WorkloadKeys(),
		testTools.Names(), testTools.Modes(""), experiment.PlacementWords(), experiment.KeysOf("step"),
		{experiment.ConstantArrivals, experiment.PoissonArrivals},
		{experiment.Upload, experiment.Download, experiment.Both},
		{experiment.WaitBlock, experiment.WaitBusyPoll, experiment.WaitEpoll, experiment.WaitSpin},
	} {
		keys = append(keys, more...)
	}
	for _, key := range keys {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("docs/reference.md does not name `%s`", key)
		}
	}
}
