package tool

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// flentPings are raw round trips of 10 to 11 ms.
func flentPings(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"seq": %d.0, "t": %d.25, "val": %.2f}`, i, 1588855601+i, 10+float64(i)/float64(n)))
	}
	return strings.Join(list, ", ")
}

// flentDocument is a file of version 4, with the series and raw values of a test.
func flentDocument(results, raw, meta string) string {
	return `{"metadata": {"DATA_FILENAME": "x.flent.gz", "FAILED_RUNNERS": 0, "FLENT_VERSION": "1.9.9", "HOST": "10.0.0.2",
 "IP_VERSION": 4, "LENGTH": 60, "NAME": "rrul_be", "SERIES_META": {` + meta + `}, "STEP_SIZE": 0.05,
 "T0": "2020-05-07T12:46:41.601887Z", "TIME": "2020-05-07T12:46:28.5Z", "TITLE": "fq_codel"},
 "raw_values": {` + raw + `}, "results": {` + results + `}, "version": 4, "x_values": [0.0, 0.05]}`
}

func flentSamples() []sample {
	return []sample{
		{
			name: "flent ping", tool: "flent", protocol: "icmp", reportedAs: "rtt",
			text: flentDocument(`"Ping (ms) ICMP": [10.0, null, 10.9], "Ping (ms) avg": [10.0, 10.9]`,
				`"Ping (ms) ICMP": [`+flentPings(200)+`]`, ""),
			want: map[string]float64{"rtt.mean": 10.4975e-3, "rtt.min": 10e-3, "rtt.max": 10.99e-3, "rtt.p50": 10.49e-3,
				"rtt.p90": 10.89e-3, "received": 200},
			not: []string{"rtt.p99"},
		},
		{
			name: "flent udp pings by netperf", tool: "flent", protocol: "udp", reportedAs: "rtt",
			text: flentDocument(`"Ping (ms) UDP BE1": [10.0, null, 12.0], "Ping (ms) UDP BE1::tcp_rtt": [null]`,
				`"Ping (ms) UDP BE1": [{"dur": 0.2, "t": 1588855601.1, "val": 94.5}]`, ""),
			want: map[string]float64{"rtt.mean": 11e-3}, not: []string{"rtt.min", "rtt.p50"},
		},
		{
			name: "flent streams", tool: "flent", protocol: "tcp", reportedAs: "rate",
			text: flentDocument(`"TCP upload::1": [1, 2], "TCP upload::2": [3, 4], "TCP upload avg": [2], "TCP upload sum": [4, 6],
 "TCP upload::1::tcp_cwnd": [10, 10]`, "", `"TCP upload sum": {"MEAN_VALUE": 26.09, "UNITS": "Mbits/s"}`),
			want: map[string]float64{"goodput": 26.09e6},
		},
		{
			name: "flent pages", tool: "flent", protocol: "http", reportedAs: definitionFlent,
			text: flentDocument(`"HTTP latency": [4.0, 2.0]`, `"HTTP latency": [{"t": 1, "val": 0.004}]`, ""),
			want: map[string]float64{"response_time.mean": 3e-3}, not: []string{"rtt.mean"},
		},
		{
			name: "flent without an answer", tool: "flent", protocol: "icmp", reportedAs: "none",
			text: flentDocument(`"Ping (ms) ICMP": [null, null]`, "", ""), fails: "nothing answered",
		},
		{
			name: "flent, another test", tool: "flent", reportedAs: "none",
			text: flentDocument(`"UDP upload": [1.0]`, "", ""), fails: "no series of round trips",
		},
	}
}

// TestFlentFile: one file has round trips, and streams of both directions, each of which is a trial.
func TestFlentFile(t *testing.T) {
	text := flentDocument(`"Ping (ms) ICMP": [10.0], "Ping (ms) UDP BE2": [11.0], "TCP download BE": [1.5], "TCP download BE::tcp_cwnd": [10], "TCP download BE2": [2.5],
 "TCP upload BE": [null]`, `"Ping (ms) ICMP": [`+flentPings(30)+`]`, "")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	runs := several(t, packed.String(), 4)
	for i, want := range []string{"rrul_be", "rrul_be udp_be2", "rrul_be download", "rrul_be upload"} {
		if got := runs[i].Facts["setting"]; got != want || (runs[i].Err != nil) != (i == 3) {
			t.Errorf("%q (%v), want %q", got, runs[i].Err, want)
		}
	}
	wantStarted(t, runs[0], "2020-05-07T12:46:41.601887Z")
	if runs[2].Facts["connections"] != "2" || runs[2].Metrics[0].Value != 4e6 || runs[0].Facts["ip"] != "4" {
		t.Errorf("%v, %v", runs[2].Facts, runs[2].Metrics)
	}
	// A T0 without a zone says no moment; the raw values do.
	local := strings.Replace(text, `12:46:41.601887Z", "TIME`, `14:46:41.601887", "TIME`, 1)
	for _, run := range several(t, local, 4) {
		wantStarted(t, run, "2020-05-07T12:46:41.25Z")
	}
}

// TestImportPacked: a file that gzip has compressed, cut off or too large.
func TestImportPacked(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range maxUnpacked >> 20 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write([]byte("x")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for says, data := range map[string][]byte{
		"unpacks to more than 64 MiB": packed.Bytes(), "cut off": packed.Bytes()[:1000],
		"cannot be unpacked": append(append([]byte{}, packed.Bytes()[:10]...), "nonsense that is not deflated"...),
	} {
		if _, err := Import(data, ""); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
