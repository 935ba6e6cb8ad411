package inside

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func valid() Recording {
	return Recording{
		Version: Version, Side: Both, Sampled: 3, Complete: 2, Events: 12,
		Paths: []Path{{
			Steps: []Step{
				{Way: Request, Kind: Send, Place: "client"},
				{Way: Reply, Kind: Device, Place: "client", Device: "eth0", DeviceKind: "veth"},
			},
			Trips: []Trip{{Spans: []int64{1000, 500}}, {At: 5, Spans: []int64{900, 400}, Cause: CauseCPU, Step: 1, Excess: 7}},
		}},
	}
}

func TestDecode(t *testing.T) {
	data, err := json.Marshal(valid())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if took := r.Paths[0].Trips[0].Took(); took != 1500 {
		t.Errorf("the first trip took %d ns, want 1500", took)
	}
	for name, broken := range map[string]func(*Recording){
		"version 2":                  func(r *Recording) { r.Version = 2 },
		"unknown side":               func(r *Recording) { r.Side = "left" },
		"4 of 3 trips are complete":  func(r *Recording) { r.Complete = 4 },
		"4 trips in the paths":       func(r *Recording) { r.Paths = append(r.Paths, r.Paths[0]) },
		"0 steps":                    func(r *Recording) { r.Paths[0].Steps = nil },
		"unknown way":                func(r *Recording) { r.Paths[0].Steps[0].Way = "up" },
		"unknown kind":               func(r *Recording) { r.Paths[0].Steps[0].Kind = "think" },
		"is no name":                 func(r *Recording) { r.Paths[0].Steps[0].Place = "a\x1b[2J" },
		"has 1 spans for 2 steps":    func(r *Recording) { r.Paths[0].Trips[0].Spans = []int64{1} },
		"has a step of -1 ns":        func(r *Recording) { r.Paths[0].Trips[0].Spans[0] = -1 },
		"the unknown cause":          func(r *Recording) { r.Paths[0].Trips[0].Cause = "luck" },
		"step 2, excess 0":           func(r *Recording) { r.Paths[0].Trips[0].Step = 2 },
		"a problem of 2000 bytes":    func(r *Recording) { r.Problem = strings.Repeat("x", 2000) },
		"65 paths, at most 64":       func(r *Recording) { r.Paths = make([]Path, 65) },
		"0 of -1 trips are complete": func(r *Recording) { r.Sampled, r.Complete, r.Paths = -1, 0, nil },
	} {
		r := valid()
		broken(&r)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(data); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}

// What is told of a machine that could not be watched can be read again, whatever its error says.
func TestUnknown(t *testing.T) {
	for _, text := range []string{"no right", strings.Repeat("é", 4000), "a\x1b[31mb\nc"} {
		data, err := json.Marshal(Unknown(Client, errors.New(text)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode(data)
		if err != nil || r.Problem == "" || r.Side != Client || strings.ContainsAny(r.Problem, "\x1b\n") {
			t.Errorf("%.20q: %+v, %v", text, r, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	data, err := json.Marshal(valid())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"version":1,"side":"client","problem":"no right","paths":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Errorf("what was read cannot be read again: %v", err)
		}
	})
}
