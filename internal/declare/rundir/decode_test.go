package rundir

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/packets"
	"nearfar/internal/declare/result"
)

// wholeTrial has every key of a trial.
func wholeTrial() result.Trial {
	size := 64
	return result.Trial{
		Trial: 7, Block: 2, Arm: "vxlan", Workload: "rr", Deployment: 1, Repeat: 2, Replaces: 3,
		Tool: result.ToolVersion{Name: "native", Version: "0.1.0"}, Mode: "rr", Protocol: "tcp", MessageBytes: &size,
		Started: time.Date(2026, 11, 21, 19, 22, 0, 5, time.UTC), DurationSeconds: 2.5e-1, ReportedAs: "rtt",
		Definition: "rtt", Inside: []string{"raw/7.inside.json"}, Captures: []packets.Capture{
			{Side: packets.Client, File: "raw/7.client.pcapng", Points: []packets.Point{{Name: "a", Packets: 7, Dropped: 3}}},
			{Side: packets.Server, Problem: "no right"},
		}, Histogram: "raw/7.hdr", Raw: []string{"raw/7.out"},
		Metrics: []result.Metric{
			{Name: "rtt", Stat: "p50", Unit: "s", Value: 1.5e-05},
			{Name: "cpu", Unit: "1", Value: 0.25, Scope: "client"},
		},
		Set: map[string]string{"congestion": "bbr"}, Treatment: map[string]string{"congestion": "it is bbr"},
		Facts:    map[string]string{"wait": "block", "cpu_waited": "0.5", "os": "linux/amd64"},
		Observed: &result.Sides[check.Place]{Client: &check.Place{Host: "a"}},
		Counters: &result.Sides[check.Counters]{Client: &check.Counters{Devices: []check.DeviceCounters{
			{Name: "eth0", Own: map[string]uint64{"bw_out" + check.LimiterSuffix: 3}}}}},
		Wire:     &result.Sides[check.Wire]{Server: &check.Wire{Problem: "none"}},
		Expect:   []check.Judgement{{Outcome: check.Proved, Evidence: "seen"}},
		Commands: []string{"a > b", "c"}, Notes: []string{"größer"}, Error: "it \"broke\"",
	}
}

func lineFor(t testing.TB, trial result.Trial) string {
	t.Helper()
	line, err := json.Marshal(trial)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// TestOnePass: the lines that this program writes are read in one pass.
func TestOnePass(t *testing.T) {
	quiet := wholeTrial()
	quiet.Counters.Client.Devices[0].Own = nil
	for _, trial := range []result.Trial{{}, wholeTrial(), quiet} {
		for _, brief := range []bool{false, true} {
			d := newDecoder(brief)
			d.b = []byte(lineFor(t, trial))
			if !d.fast() {
				t.Errorf("brief %v: not in one pass: %s", brief, d.b[d.at:])
			}
		}
	}
}

// TestEveryKeyIsRead: a key that is added to the record is added to the decoder.
func TestEveryKeyIsRead(t *testing.T) {
	trial := reflect.ValueOf(wholeTrial())
	for i := range trial.NumField() {
		if name := trial.Type().Field(i).Name; trial.Field(i).IsZero() {
			t.Errorf("wholeTrial has no %s", name)
		}
	}
}

// FuzzDecode: a line is read like encoding/json reads it, or refused like that, and brief trials are Trial.Brief.
func FuzzDecode(f *testing.F) {
	f.Add(lineFor(f, result.Trial{}))
	f.Add(lineFor(f, wholeTrial()))
	for _, line := range []string{
		`{}`, ` {}`, `{"trial":1} x`, `{"trial":01}`, `{"trial":1e2}`, `{"TRIAL":1}`, `{"trial":1,"trial":2}`,
		`{"set":null,"facts":{"wait":null},"metrics":null,"notes":null}`, `{"facts":{"a":"1","a":"2"}}`,
		`{"metrics":[{"name":"rtt","value":1,"more":2}]}`, `{"metrics":[{"value":-0.5E+3}]}`, `{"error":"\ud800"}`,
		"{\"error\":\"\xff\"}", `{"message_bytes":null,"tool":{"name":"x"}}`, `{"started":"yesterday"}`,
		`{"counters":{"client":"x"}}`, `{"arm":"a","arm":"b"`, `{"commands":["\u003c"],"raw":["a",1]}`,
		`{"metrics":[{"value":1e999}]}`, `{"expect":[{}],"expect":[]}`, `{"set":{},"treatment":{"a":"b"}}`, "\x00", "{}\f",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		want, wantErr := readTrial([]byte(line))
		whole := newDecoder(false)
		for range 2 {
			got, err := whole.trial([]byte(line))
			if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q\nread as %+v, %v\nwant    %+v, %v", line, got, err, want, wantErr)
			}
		}
		if wantErr != nil {
			return
		}
		want.Brief()
		brief := newDecoder(true)
		for range 2 {
			got, err := brief.trial([]byte(line))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q\nbrief   %+v, %v\nwant    %+v", line, got, err, want)
			}
		}
	})
}

// TestBriefReadsTheSameLines: a damaged line is an error for both ways of reading.
func TestBriefReadsTheSameLines(t *testing.T) {
	for _, brief := range []bool{false, true} {
		for _, line := range []string{`{"trial":1`, `{"trial":"1"}`, strings.Repeat("[", 100)} {
			if _, err := newDecoder(brief).trial([]byte(line)); err == nil {
				t.Errorf("brief %v: %s is read", brief, line)
			}
		}
	}
}
