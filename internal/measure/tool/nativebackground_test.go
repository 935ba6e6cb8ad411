package tool

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

func companion(t testing.TB) Companion {
	t.Helper()
	c, ok := NewNative("the secret").(Companion)
	if !ok {
		t.Fatal("the engine cannot run in the background")
	}
	return c
}

func TestNativeBackgroundPlan(t *testing.T) {
	w := experiment.Workload{Tool: "native", Mode: experiment.Stream, Protocol: experiment.TCP, Connections: 2,
		Direction: experiment.Download,
		Warmup:    500 * time.Millisecond}
	p, err := companion(t).PlanBackground(w, at("10.0.0.2"), 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(p.Client.Argv,
		" "), "nearfar engine stream 10.0.0.2:7780 -f json --secret-stdin --duration 30.001s --warmup 500ms "+
		"--message 131072B --connections 2 --direction download --interval 100ms"; got != want {
		t.Errorf("client\n%s, not\n%s", got, want)
	}
	if got, want := strings.Join(p.Server.Argv,
		" "), "nearfar engine serve --listen 10.0.0.2:7780 --data-port 7779 --secret-stdin --once"; got != want {
		t.Errorf("server\n%s, not\n%s", got, want)
	}
	if p.Ready != (Ready{Protocol: "tcp", Port: 7780}) || p.Expected < 500*time.Millisecond ||
		p.Expected > 2*time.Second {
		t.Errorf("ready %+v, expected %v", p.Ready, p.Expected)
	}
	if string(p.Client.Stdin) != "the secret\n" || string(p.Server.Stdin) != "the secret\n" {
		t.Error("the secret does not travel on standard input")
	}
	// What runs for a day has longer intervals: each is a line.
	if p, err = companion(t).PlanBackground(w, at("10.0.0.2"), 20*time.Hour); err != nil ||
		!strings.HasSuffix(strings.Join(p.Client.Argv, " "), "--interval 24s") {
		t.Errorf("%q, %v", p.Client.Argv, err)
	}
	w.Mode = experiment.RR
	if _, err := companion(t).PlanBackground(w, at("10.0.0.2"), time.Second); err == nil {
		t.Error("a background of rr was planned")
	}
}

const streamStart = `{"type":"start","version":"0.2.0","mode":"stream","protocol":"tcp","server":"10.0.0.2:7778","message":131072,"connections":2,"warmup_seconds":0.5,"duration_seconds":30}
`

// windowBegan is when the window of the tests' streams began.
func windowBegan() time.Time { return time.Unix(1_700_000_000, 0) }

// since is a moment of such a window.
func since(d time.Duration) time.Time { return windowBegan().Add(d) }

// intervals are the lines of a stream's intervals of 0.1 s, with this many kilobytes each.
func intervals(kilobytes ...int) string {
	var b strings.Builder
	for i, n := range kilobytes {
		fmt.Fprintf(&b,
			`{"type":"interval","second":%d,"start_seconds":%.1f,"end_seconds":%.1f,"end_unix_seconds":%.6f,"bytes":%d,"goodput":%d}`+"\n",
			i+1, float64(i)/10, float64(i+1)/10, 1.7e9+float64(i+1)/10, n*1000, n*80000)
	}
	return b.String()
}

func TestNativeFlowing(t *testing.T) {
	for printed, want := range map[string]bool{
		"":                              false,
		streamStart:                     false,
		streamStart + intervals(0, 0):   false,
		streamStart + intervals(0, 100): true,
		strings.TrimSpace(streamStart + intervals(100)): false, // the line may go on
		"no record at all\n":                            false,
	} {
		if got := companion(t).Flowing([]byte(printed)); got != want {
			t.Errorf("flowing %v, want %v, after %q", got, want, printed)
		}
	}
}

func TestNativeReported(t *testing.T) {
	printed := []byte(streamStart + intervals(100, 100))
	for at, want := range map[time.Duration]bool{-time.Second: true, 150 * time.Millisecond: true,
		250 * time.Millisecond: false} {
		if got := companion(t).Reported(printed, since(at)); got != want {
			t.Errorf("after intervals of 0.2 s, %v is reported: %v, want %v", at, got, want)
		}
	}
	if companion(t).Reported(nil, since(0)) {
		t.Error("something is reported without any output")
	}
}

func TestNativeBackgroundIsOfTheTimeOfItsWorkload(t *testing.T) {
	const ms = time.Millisecond
	all := streamStart + intervals(900, 900, 500, 100, 200, 300, 900, 900)
	// The workload ran from 0.25 s to 0.65 s: the intervals from 0.3 s to 0.6 s lie within, 100, 200 and 300 kB in
	// 0.3 s.
	for name, printed := range map[string]string{
		"all":             all,
		"then it failed":  all + `{"type":"error","message":"context canceled"}` + "\n",
		"then it was cut": all[:len(all)-10],
		"not all came":    streamStart + intervals(900, 900, 500, 100, 200, 300),
	} {
		m, err := companion(t).ParseBackground(Output{Stdout: []byte(printed)}, since(250*ms), since(650*ms))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := nativeValue(t, m, result.Goodput, "", ""); math.Abs(got-16e6) > 1 {
			t.Errorf("%s: goodput %g, want 16e6", name, got)
		}
		if m.Definition != result.DefinitionRate || m.Tool.Version != "0.2.0" || m.Facts["connections"] != "2" ||
			m.Facts["window_seconds"] != "0.300" || len(m.Notes) > 0 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestNativeBackgroundBothWays(t *testing.T) {
	line := func(second int, up, down float64) string {
		return fmt.Sprintf(`{"type":"interval","second":%d,"start_seconds":%d,"end_seconds":%d,"end_unix_seconds":%d,"bytes":%.0f,"goodput":%g,"upload_goodput":%g,"download_goodput":%g,"retransmits":3,"smoothed_rtt_seconds":0.01}`+"\n",
			second, second-1, second, 1_700_000_000+second, (up+down)/8, up+down, up, down)
	}
	printed := streamStart + line(1, 8e6, 8e6) + line(2, 8e6, 16e6) + line(3, 16e6, 16e6)
	m, err := companion(t).ParseBackground(Output{Stdout: []byte(printed)}, since(time.Second/2), since(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for scope, want := range map[string]float64{"": 28e6, "upload": 12e6, "download": 16e6} {
		if got := nativeValue(t, m, result.Goodput, "", scope); math.Abs(got-want) > 1 {
			t.Errorf("goodput %s %g, want %g", scope, got, want)
		}
	}
	if got := nativeValue(t, m, result.Retransmits, "", ""); got != 6 {
		t.Errorf("%g retransmits, want those of the last two intervals, 6", got)
	}
}

// A workload that is shorter than two intervals may have none within.
func TestNativeBackgroundOfOverlappingIntervals(t *testing.T) {
	printed := streamStart + intervals(900, 100, 300, 900)
	m, err := companion(t).ParseBackground(Output{Stdout: []byte(printed)}, since(150*time.Millisecond),
		since(250*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if got := nativeValue(t, m, result.Goodput, "", ""); math.Abs(got-16e6) > 1 || len(m.Notes) != 1 ||
		!strings.Contains(m.Notes[0], "began before the workload") {
		t.Errorf("goodput %g, want 16e6; notes %q", got, m.Notes)
	}
}

func TestNativeBackgroundFails(t *testing.T) {
	failed := streamStart + intervals(100, 100, 100) + `{"type":"error","message":"connection reset"}` + "\n"
	for name, c := range map[string]struct{ printed, want string }{
		"nothing":       {"", "printed no record"},
		"refused":       {`{"type":"error","message":"connection refused"}` + "\n", "connection refused"},
		"failed within": {failed, "connection reset"},
		"too short":     {streamStart, "reported nothing of the time in which the workload ran"},
		"too early":     {streamStart + intervals(100), "reported nothing of the time in which the workload ran"},
		"stood still":   {streamStart + intervals(100, 100, 0, 0, 0), "no data of the background arrived"},
		"garbage":       {streamStart + intervals(100, 100) + "Segmentation fault\n", "JSON"},
		"no time":       {streamStart + strings.Repeat(`{"type":"interval","second":1,"start_seconds":1,"end_seconds":1,"end_unix_seconds":1700000000.3,"bytes":9}`+"\n", 3), "last 0 s"},
	} {
		m, err := companion(t).ParseBackground(Output{Stdout: []byte(c.printed)}, since(190*time.Millisecond),
			since(410*time.Millisecond))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if len(m.Metrics) != 0 {
			t.Errorf("%s: metrics beside the error", name)
		}
	}
}

func FuzzNativeBackground(f *testing.F) {
	f.Add([]byte(streamStart+intervals(900, 500, 100, 200)), int64(150), int64(370))
	f.Add([]byte(streamStart+`{"type":"error","message":"x"}`), int64(0), int64(1000))
	f.Add([]byte{}, int64(5), int64(3))
	f.Fuzz(func(t *testing.T, printed []byte, from, until int64) {
		c := companion(t)
		at := func(ms int64) time.Time { return time.UnixMilli(1_700_000_000_000 + ms%1_000_000) }
		c.Flowing(printed)
		c.Reported(printed, at(until))
		m, err := c.ParseBackground(Output{Stdout: printed}, at(from), at(until))
		if (err == nil) != (len(m.Metrics) > 0) {
			t.Errorf("%v beside %+v", err, m.Metrics)
		}
		for _, metric := range m.Metrics {
			if math.IsNaN(metric.Value) || math.IsInf(metric.Value, 0) || metric.Value < 0 {
				t.Errorf("%+v", metric)
			}
		}
	})
}
