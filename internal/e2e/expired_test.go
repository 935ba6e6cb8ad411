//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nearfar/internal/cloud/provision"
)

// setUntil changes until when nearfar's record says that the machines are meant to exist.
func (s *stand) setUntil(until time.Time) {
	s.t.Helper()
	r := s.record()
	r.Until = until.UTC().Truncate(time.Second)
	data, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, ".nearfar", "stand", "record.json"), data, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Machines that are past their time are not measured; their time can be renewed, and all of them can be deleted.
func TestExpiredMachines(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	s.must(0, "up", "--yes")
	if got := s.must(0, "down", "--expired").printed(); got != "No machines are past their time.\n" ||
		len(s.cloud.Machines()) != 2 {
		t.Errorf("down --expired prints %q", got)
	}
	s.setUntil(time.Now().Add(500 * time.Millisecond))
	soon := s.must(1, "run", "--force=false", s.file)
	if !strings.Contains(soon.said(), "nearfar up --extend "+s.file) {
		t.Errorf("run says %q", soon.said())
	}
	past := time.Now().Add(-time.Hour)
	s.setUntil(past)
	if out := s.must(0, "ls").printed(); !strings.Contains(out, " (past)") {
		t.Errorf("ls prints %q", out)
	}
	if said := s.must(0, "up", "--yes").said(); !strings.Contains(said, "which is past. Renew it with: nearfar up --extend") {
		t.Errorf("up says %q", said)
	}
	if until := s.record().Until; !until.Equal(past.UTC().Truncate(time.Second)) {
		t.Errorf("up has changed the time to %v", until)
	}
	s.must(0, "up", "--extend", "--yes")
	if left := time.Until(s.record().Until); left < time.Hour || left > standTTL {
		t.Errorf("the time that is left is %v", left)
	}
	for _, file := range glob(t, filepath.Join(s.cloud.Folder, "machines", "*")) {
		expires, err := time.Parse(time.RFC3339, s.cloud.Machine(file).Tags["expires"])
		if err != nil || !expires.Equal(s.record().Until) {
			t.Errorf("%s expires at %v (%v), the record has %v", file, expires, err, s.record().Until)
		}
	}
	s.setUntil(past)
	if out := s.must(1, "down", "--expired", "--check").printed(); !strings.Contains(out, "past its time since") ||
		len(s.cloud.Machines()) != 2 {
		t.Errorf("down --expired --check prints %q", out)
	}
	s.must(2, "down", "--expired", s.file)
	s.must(2, "down", "--expired", "--all")
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.dir, strings.Replace(string(text), "name: stand", "name: other", 1))
	if said := s.must(1, "down", "--expired").said(); !strings.Contains(said, "it is now about other") ||
		len(s.cloud.Machines()) != 2 {
		t.Errorf("down --expired of another experiment says %q", said)
	}
	write(t, s.dir, string(text))
	s.must(0, "down", "--expired")
	s.nothingLeft()
}

// standTTL is the time of the machines of experimentText.
const standTTL = 2 * time.Hour

// A record below the current directory that is not in the user's index can come from elsewhere.
func TestExpiredOfOthers(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	s.must(0, "up", "--yes")
	s.setUntil(time.Now().Add(-time.Hour))
	index := glob(t, filepath.Join(s.stateHome(), "nearfar", "provisioned", "*"))
	if len(index) != 1 {
		t.Fatalf("the index has %q", index)
	}
	if err := os.Remove(index[0]); err != nil {
		t.Fatal(err)
	}
	if out := s.must(0, "ls").printed(); !strings.Contains(out, " (past)") {
		t.Errorf("ls prints %q", out)
	}
	s.must(0, "down", "--expired")
	if got := s.record().State; len(s.cloud.Machines()) != 2 || got != provision.StateUp {
		t.Errorf("machines of others are %s: %q", got, s.cloud.Machines())
	}
	s.must(0, "down", s.file)
	s.nothingLeft()
}
