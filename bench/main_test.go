package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the program that the benchmark puts on the lab's hosts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(start(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// The benchmark measures in a lab, from the first namespace to the table.
func TestBenchMeasures(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	dir := t.TempDir()
	o := options{blocks: 1, seconds: 1, seed: 3, only: "C loop|1 connection: CPU|one-way|clock alone", out: dir,
		results: filepath.Join(dir, "RESULTS.md")}
	var stdout, stderr strings.Builder
	if err := measureAll(ctx, o, regexp.MustCompile(o.only), &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for _, want := range []string{
		`TCP rr 64 B: p50 of the RTT +\| the shortest C loop +\| ` +
			`[0-9.]+ us +\| [0-9.]+ us +\| [0-9.]+ +\| at most 1.02 +\| cannot tell`,
		`CPU of both sides per Gbit \| iperf3 +\| [0-9.]+ ms/Gbit +\| [0-9.]+ ms/Gbit +\|`,
		`UDP 64 B one-way: delivered per second +\| sockperf throughput --mps=max \| ` +
			`[0-9]+ /s +\| [0-9]+ /s +\| [0-9.]+ +\| at least 1.50 \| cannot tell`,
		`sees them \| the clock alone \| [0-9.]+ [num]s +\| -`,
	} {
		if !regexp.MustCompile(want).MatchString(stdout.String()) {
			t.Errorf("no %s in:\n%s\n%s", want, stdout.String(), stderr.String())
		}
	}
	if _, err := os.Stat(o.results); !os.IsNotExist(err) {
		t.Errorf("a part was written to the results: %v", err)
	}
	raw, err := filepath.Glob(filepath.Join(dir, "*", "raw", "*-stream-1-iperf3.client.out"))
	if err != nil || len(raw) != 1 {
		t.Errorf("iperf3's output was kept as %q, %v", raw, err)
	}
}

func TestReadOptionsRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--blocks 0": "from 1 to", "--seconds 0": "from 1 to 3600", "--only (": "--only",
		"--seed -1": "invalid value", "--blocks 2 x": "flags only",
	} {
		var stderr strings.Builder
		_, _, err := readOptions(strings.Fields(args), &stderr)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if o, _, err := readOptions(nil, &strings.Builder{}); err != nil || o.blocks < fewestBlocks() {
		t.Errorf("the defaults are %+v, %v: they must give intervals", o, err)
	}
}

func TestOnlyMatchingNothingIsAMistake(t *testing.T) {
	o := options{blocks: 1, seconds: 1, only: "token ring", out: t.TempDir()}
	err := measureAll(context.Background(), o, regexp.MustCompile(o.only), &strings.Builder{}, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "matches no row") {
		t.Error(err)
	}
}
