package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
)

// newestFolder is a folder as scripts/newest-tools.sh makes it, with files that are no programs.
func newestFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, file := range []string{"usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "usr/bin/iperf3"} {
		at := filepath.Join(folder, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// The newest iperf3 is started by its own loader with its own libraries, on both sides, and over UDP without a limit.
func TestNewestIperf3(t *testing.T) {
	folder := newestFolder(t)
	newest, err := findNewest(folder)
	if err != nil {
		t.Fatal(err)
	}
	loader := filepath.Join(folder, "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
	starts := []string{loader, "--library-path", filepath.Dir(loader), filepath.Join(folder, "usr/bin/iperf3")}
	for _, g := range withNewest(ratios(1), 1) {
		for _, w := range g.Workloads {
			if w.Tool != newestName {
				continue
			}
			p, err := newest.Plan(w, testPair())
			if err != nil {
				t.Fatalf("%s: %v", w.Name, err)
			}
			client := strings.Join(p.Client.Argv, " ")
			if !slices.Equal(p.Client.Argv[:4], starts) || !slices.Equal(p.Server.Argv[:4], starts) {
				t.Errorf("%s: %v and %v", w.Name, p.Client.Argv, p.Server.Argv)
			}
			if unlimited := strings.Contains(client, " -b 0 --gsro"); unlimited != (w.Protocol == experiment.UDP) {
				t.Errorf("%s: %s", w.Name, client)
			}
		}
	}
}

// Without the newest iperf3 no row is against it; with it, each row against iperf3 has a second one, and UDP has
// four: two figures with a receiver that sleeps, and two with one that polls.
func TestRowsOfNewest(t *testing.T) {
	count := func(all []group) (old, newest int) {
		for _, g := range all {
			for _, r := range g.Rows {
				switch {
				case r.Against == "iperf3":
					old++
				case strings.HasSuffix(r.Against, ", newest"):
					newest++
				}
			}
		}
		return old, newest
	}
	if old, newest := count(ratios(1)); old != 4 || newest != 0 {
		t.Errorf("without: %d rows against iperf3, %d against the newest", old, newest)
	}
	if old, newest := count(withNewest(ratios(1), 1)); old != 4 || newest != 8 {
		t.Errorf("with: %d rows against iperf3, %d against the newest", old, newest)
	}
	whole := datagramsAgainstIperf3(time.Second).Workloads
	for _, w := range whole {
		if w.Message != whole[0].Message {
			t.Errorf("%s sends %d bytes, and %s %d", w.Name, w.Message, whole[0].Name, whole[0].Message)
		}
	}
}

func TestNoNewestThere(t *testing.T) {
	if _, err := findNewest(t.TempDir()); err == nil || !strings.Contains(err.Error(), "scripts/newest-tools.sh") {
		t.Errorf("an empty folder: %v", err)
	}
}
