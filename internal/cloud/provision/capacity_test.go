package provision

import (
	"encoding/json"
	"os"
	"testing"
)

// The texts of testdata/refusals.json are errors that strangers have reported in public issues, shortened. All that
// refuse for lack of capacity or quota are recognised, with a code; others, without one, are not.
func TestRefusalsOfStrangers(t *testing.T) {
	data, err := os.ReadFile("testdata/refusals.json")
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct{ Source, Code, Text string }
	if err := json.Unmarshal(data, &corpus); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range codes() {
		known[r.Code] = true
	}
	refusals, missed := 0, 0
	for _, c := range corpus {
		if c.Code != "" {
			refusals++
			if !known[c.Code] {
				t.Errorf("%s: nearfar does not know the code %s", c.Source, c.Code)
			}
		}
		if got, _ := refusal([]diagnostic{{Summary: "creating", Detail: c.Text}}); got.Code != c.Code {
			t.Errorf("%s: code %q, want %q: %s", c.Source, got.Code, c.Code, c.Text)
			missed++
		}
	}
	if refusals < 30 {
		t.Errorf("%d refusals, want at least 30", refusals)
	}
	t.Logf("%d of %d texts as they should be", len(corpus)-missed, len(corpus))
}
