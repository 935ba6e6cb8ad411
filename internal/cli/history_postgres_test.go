//go:build unix

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"nearfar/internal/history"
	"nearfar/internal/history/postgrestest"
)

// TestHistoryOfATeam pushes runs into a real PostgreSQL server and reads the history from there. No output contains the
// password.
func TestHistoryOfATeam(t *testing.T) {
	writeHistory(t)
	address := postgrestest.Start(t)
	out, stderr := command(t, exitDone, "history", "--db", address, "--push", "--arm", "l2", "-f", "json", "runs")
	if !strings.Contains(stderr, "copied 20 of 20 runs") {
		t.Error(stderr)
	}
	var d history.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Series) != 1 || len(d.Series[0].Points) != 20 || len(d.Series[0].Changes) != 1 ||
		d.Series[0].Machine != "bench-1" {
		t.Errorf("%+v", d.Series)
	}
	_, again := command(t, exitDone, "history", "--db", address, "--push", "runs")
	if !strings.Contains(again, "copied 0 of 20 runs") {
		t.Error(again)
	}
	text, _ := command(t, exitDone, "history", "--db", address, "--machine", "bench-1", "--arm", "l2")
	if !strings.Contains(text, "+18.6 %") {
		t.Error(text)
	}
	if strings.Contains(out+stderr+again+text, postgrestest.Password) {
		t.Error("the password was printed")
	}
	_, stderr = command(t, exitUsage, "history", "--db", address, "--machine", "bench-2")
	if !strings.Contains(stderr, `there are "bench-1"`) {
		t.Error(stderr)
	}
}
