//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/result"
	"nearfar/internal/kits/pythontest"
)

// serveOnce starts the engine's server on loopback for one session, and returns its address.
func serveOnce(t *testing.T) string {
	t.Helper()
	server := exec.Command(program, "engine", "serve", "--listen", "127.0.0.1:0", "--once", "--secret-stdin")
	server.Stdin = strings.NewReader("open sesame\n")
	printed, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(printed)
	address := ""
	for address == "" && lines.Scan() {
		address = regexp.MustCompile(`127\.0\.0\.1:[1-9][0-9]*`).FindString(lines.Text())
	}
	t.Cleanup(func() {
		if t.Failed() {
			_ = server.Process.Kill() // it may wait for a client
		}
		for lines.Scan() { // until the server has ended
		}
		if err := server.Wait(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	if address == "" {
		t.Fatal("the server does not say where it listens")
	}
	return address
}

// TestOthersReadHistograms: the Python port of HdrHistogram reads the same counts and percentiles as the engine
// reports, from the log that the engine writes while it measures and from the histogram at the end.
func TestOthersReadHistograms(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	log, whole := filepath.Join(dir, "log.hlog"), filepath.Join(dir, "whole.hdr")
	client := exec.Command(program, "engine", "rr", serveOnce(t), "-f", "json", "--secret-stdin",
		"--duration", "1500ms", "--warmup", "100ms", "--histogram", log)
	client.Stdin = strings.NewReader("open sesame\n")
	var stdout, stderr bytes.Buffer
	client.Stdout, client.Stderr = &stdout, &stderr
	if err := client.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var said struct {
		Metrics   []result.Metric `json:"metrics"`
		Histogram string          `json:"histogram"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &said); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(whole, []byte(said.Histogram), 0o644); err != nil {
		t.Fatal(err)
	}
	var read []struct {
		Count       int64            `json:"count"`
		Intervals   int              `json:"intervals"`
		Percentiles map[string]int64 `json:"percentiles"`
		Buckets     [][3]int64       `json:"buckets"`
	}
	if err := json.Unmarshal(pythontest.Run(t, "../show/export/testdata/read_hdr.py", log, whole), &read); err != nil {
		t.Fatal(err)
	}
	if len(read) != 2 || read[0].Count < 1000 || read[0].Intervals < 1 {
		t.Fatalf("read %+v", read)
	}
	if diff := cmp.Diff(read[0].Buckets, read[1].Buckets); diff != "" {
		t.Errorf("the log and the histogram at the end differ:\n%s", diff)
	}
	trial := result.Trial{Metrics: said.Metrics}
	for stat, percent := range map[string]int64{result.P50: 50, result.P90: 90, result.P99: 99} {
		ours, ok := trial.Value(result.RTT, stat)
		rank := (read[1].Count*percent + 99) / 100 // the nearest rank
		if want := upperEnd(read[1].Buckets, rank); !ok || math.Abs(ours*1e9-float64(want)) > 0.5 {
			t.Errorf("%s is %g, and rank %d of %d is in the bucket up to %d ns", stat, ours, rank, read[1].Count, want)
		}
		// The port rounds the rank to the nearest instead of up, so it may report the observation before, however far
		// away.
		theirs := read[1].Percentiles[strconv.FormatInt(percent, 10)]
		if theirs != upperEnd(read[1].Buckets, rank) && theirs != upperEnd(read[1].Buckets, rank-1) {
			t.Errorf("%s is %g, and the port says %d ns, which is neither rank %d nor the one before",
				stat, ours, theirs, rank)
		}
	}
	rate, ok := trial.Value(result.TransactionRate, "")
	if !ok || math.Abs(rate*1.5/float64(read[0].Count)-1) > 0.2 {
		t.Errorf("%d observations at %g a second", read[0].Count, rate)
	}
}

// upperEnd returns the highest value, in nanoseconds, of the bucket with the observation of a rank, counted from 1. It
// is 0 if there are fewer observations.
func upperEnd(buckets [][3]int64, rank int64) int64 {
	seen := int64(0)
	for _, bucket := range buckets {
		if seen += bucket[2]; seen >= rank {
			return bucket[1]
		}
	}
	return 0
}
