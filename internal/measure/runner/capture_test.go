package runner

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/base/pcapfile"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/packets"
	"nearfar/internal/hosts/fake"
)

// capturedOnce is an experiment with one arm, one workload and its captured twin.
func capturedOnce() *experiment.Experiment {
	e := watchedOnce()
	twin := &e.Workloads[1]
	twin.Name, twin.Inside, twin.InsideOf, twin.Capture, twin.CaptureOf = "w-capture", false, "", true, "w"
	return e
}

// captureOf is a capture with a packet at each point, 3 that were dropped, and 2 without a time.
func captureOf(t *testing.T, points ...string) string {
	t.Helper()
	var file bytes.Buffer
	w, err := pcapfile.NewWriter(&file, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range points {
		_, err := w.AddInterface(pcapfile.Interface{Name: name, Link: pcapfile.CookedV1})
		if err == nil {
			err = w.Write(i, 7, 3, []byte("abc"), "")
		}
		if err == nil {
			err = w.Counts(i, 8, 6, 3)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return file.String()
}

// captures is a capturer that gives a file. It notes its options.
func captures(s *scene, file string) fake.Program {
	return func(ctx context.Context, _ []string, in []byte, out, stderr io.Writer) int {
		o, err := packets.DecodeOptions(in)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		s.note("watch %s: %s", o.Side, in)
		fmt.Fprintln(stderr, "capturing")
		<-ctx.Done()
		s.note("watched %s", o.Side)
		fmt.Fprint(out, file)
		return 0
	}
}

func TestATwinIsCaptured(t *testing.T) {
	for name, c := range map[string]struct {
		twoKernels    bool
		space         string
		sides, places []string
	}{
		"a lab": {false, "/proc/1/fd/9", []string{packets.Both}, []string{`{"name":"0-router","file":"/proc/1/fd/9"}`}},
		"one kernel of two hosts": {false, "", []string{packets.Client, packets.Server},
			[]string{`{"name":"client"}`, `{"name":"server"}`}},
		"two kernels": {true, "/proc/1/fd/9", []string{packets.Client, packets.Server},
			[]string{`{"name":"client"}`, `{"name":"server"}`}},
	} {
		file := captureOf(t, "0-router.left", "0-router.right")
		s := &scene{client: prints("0.5"), twoKernels: c.twoKernels, space: c.space}
		s.watch = captures(s, file)
		k := &kept{}
		if _, err := run(t, t.Context(), s, capturedOnce(), DefaultLimits(), k, nil); err != nil {
			t.Fatal(err)
		}
		twin := 0
		for _, trial := range k.trials {
			if trial.Workload == "w" {
				if len(trial.Captures) > 0 {
					t.Errorf("%s: the plain workload has %v", name, trial.Captures)
				}
				continue
			}
			twin = trial.Trial
			if trial.Error != "" || len(trial.Captures) != len(c.sides) || len(trial.Raw) != 2 || len(trial.Inside) > 0 {
				t.Errorf("%s: the trial is %+v", name, trial)
			}
			for i, got := range trial.Captures {
				suffix := ".pcapng"
				if len(c.sides) > 1 {
					suffix = "." + c.sides[i] + suffix
				}
				points := []packets.Point{{Name: "0-router.left", Packets: 1, Dropped: 3, Untimed: 2},
					{Name: "0-router.right", Packets: 1, Dropped: 3, Untimed: 2}}
				if got.Side != c.sides[i] || got.File != fmt.Sprintf("raw/%05d-a-w-capture%s", trial.Trial, suffix) ||
					got.Problem != "" || !slices.Equal(got.Points, points) ||
					k.raw[strings.TrimPrefix(got.File, "raw/")] != file {
					t.Errorf("%s: %+v", name, got)
				}
			}
		}
		log := strings.Join(s.log, "\n")
		for i, side := range c.sides {
			options := fmt.Sprintf(`watch %s: {"side":"%[1]s","protocol":"tcp","servers":["192.0.2.1"],"port":7777,`+
				`"places":[%s],"comment":"trial %d, block 1, arm a, workload w-capture of the experiment two",`, side,
				c.places[i], twin)
			started, ended := strings.Index(log, options), strings.Index(log, "watched "+side)
			if started < 0 || ended < started || !strings.Contains(log[started:ended], "client a") {
				t.Errorf("%s: side %s is not captured around the client, with %s:\n%s", name, side, options, log)
			}
		}
	}
}

// What a capturer cannot do is in the record, and the trial is good.
func TestACapturerFailsNoTrial(t *testing.T) {
	says := func(code int, stdout, stderr string) fake.Program {
		return func(_ context.Context, _ []string, _ []byte, out, err io.Writer) int {
			fmt.Fprint(out, stdout)
			fmt.Fprint(err, stderr)
			return code
		}
	}
	whole := captureOf(t, "a")
	for name, c := range map[string]struct {
		capturer fake.Program
		want     string
	}{
		"no right":       {says(1, "", "capturing packets needs root or CAP_NET_RAW\n"), "needs root or CAP_NET_RAW"},
		"no capture":     {says(0, "", "capturing\n"), "the file is empty"},
		"no packets":     {says(0, captureOf(t), "capturing\n"), "no packet of the trial was seen"},
		"half a capture": {says(0, whole[:len(whole)-6], "capturing\n"), "the file ends at byte"},
		"other bytes":    {says(0, "hello, world", "capturing\n"), "this is no capture"},
		"no name":        {says(0, captureOf(t, ""), "capturing\n"), "is no name of a point"},
		"a hostile name": {says(0, captureOf(t, "\x1b[2J"), "capturing\n"), "is no name of a point"},
		"a flood": {says(0, strings.Repeat("x", packets.MaxSize+1), "capturing\n"),
			"more than the 16777216 that are kept"},
		"a long reason": {says(1, "", strings.Repeat("no\x1b ", 1000)), "no"},
	} {
		s, k := &scene{client: prints("0.5"), watch: c.capturer, space: "/proc/1/fd/9"}, &kept{}
		if _, err := run(t, t.Context(), s, capturedOnce(), DefaultLimits(), k, nil); err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, trial := range k.trials {
			if trial.Error != "" {
				t.Errorf("%s: trial %d failed: %s", name, trial.Trial, trial.Error)
			}
			for _, got := range trial.Captures {
				if seen = true; got.File != "" || len(got.Points) > 0 || !strings.Contains(got.Problem, c.want) {
					t.Errorf("%s: %+v", name, got)
				}
			}
			if err := trial.Check(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !seen {
			t.Errorf("%s: nothing is recorded of the capture", name)
		}
	}
}

func TestACaptureThatCannotBeStartedIsUnknown(t *testing.T) {
	s := &scene{client: prints("0.5")}
	e := capturedOnce()
	r := New(e, tools{clocked{}}, s.hosts(e), DefaultLimits(), nil)
	slot := experiment.Slot{Arm: "a", Workload: "w-capture"}
	c := r.capturing(e.Workloads[1], slot, time.Second)
	c.all[0].(*capturer).host = fake.New("h", nil)
	c.begin(t.Context())
	if got := c.end()[0]; !strings.Contains(got.Problem, "not installed") || got.data != nil {
		t.Errorf("%+v", got)
	}
	unbegun := r.capturing(e.Workloads[1], slot, time.Second).end()[0]
	if !strings.Contains(unbegun.Problem, "before its client") {
		t.Errorf("%+v", unbegun)
	}
	if len(r.capturing(e.Workloads[0], slot, time.Second).end()) > 0 {
		t.Error("the plain workload is captured")
	}
}
