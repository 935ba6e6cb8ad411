package lab

import (
	"bufio"
	"os"
	"testing"
	"time"
)

// If the measured processes share a CPU, the wires run on that CPU, and otherwise on the service CPU.
func TestWhereWiresRun(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll([]*os.File{in, out})
	w := &wireProcess{answer: time.Minute, requests: in, measured: map[*process][]int{}}
	lines := bufio.NewReader(out)
	client, server := &process{}, &process{}
	for _, step := range []struct {
		what   string
		change func()
		want   string
	}{
		{"a server on CPU 1", func() { w.measured[server] = []int{1} }, "beside 1\n"},
		{"its client on the same", func() { w.measured[client] = []int{1} }, "beside 1\n"},
		{"its client on another", func() { w.measured[client] = []int{2} }, "apart\n"},
		{"its client on no CPU in particular", func() { w.measured[client] = nil }, "apart\n"},
		{"its client on several", func() { w.measured[client] = []int{1, 2} }, "apart\n"},
		{"the server alone again", func() { delete(w.measured, client) }, "beside 1\n"},
	} {
		if err := w.place(step.change); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if got, err := lines.ReadString('\n'); err != nil || got != step.want {
			t.Errorf("%s: the wires are told %q (%v), want %q", step.what, got, err, step.want)
		}
	}
	// With nothing measured nothing is said: the next line is about the next change.
	if err := w.place(func() { clear(w.measured) }); err != nil {
		t.Fatal(err)
	}
	if err := w.place(func() { w.measured[server] = []int{3} }); err != nil {
		t.Fatal(err)
	}
	if got, _ := lines.ReadString('\n'); got != "beside 3\n" {
		t.Errorf("the wires are told %q after a pause", got)
	}
}

// Wires that hardly run notice it. A few late frames are not enough.
func TestStarvedWires(t *testing.T) {
	for _, c := range []struct {
		name string
		late int // of each hundred frames
		want bool
	}{{"in time", 0, false}, {"a tenth late", 10, false}, {"half late", 50, true}} {
		f := &forwarder{all: []*direction{{}, {}}}
		for n := range starvedFrames {
			late := time.Duration(0)
			if n%100 < c.late {
				late = 2 * starvedLate
			}
			if f.starved() {
				t.Fatalf("%s: starved after %d frames", c.name, n)
			}
			f.all[n%2].note(int64(late))
		}
		if got := f.starved(); got != c.want {
			t.Errorf("%s: starved is %v", c.name, got)
		}
		if f.all[0].sent != 0 || f.all[1].late != 0 {
			t.Errorf("%s: the count goes on", c.name)
		}
	}
}
