package provision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// recorded are lines as OpenTofu 1.12 writes them, shortened.
const recorded = `{"@level":"info","type":"version","tofu":"1.12.6","ui":"1.2"}
{"type":"planned_change","change":{"resource":{"addr":"a_b.c[\"d\"]"},"action":"create"}}
{"type":"change_summary","changes":{"add":2,"change":1,"import":0,"remove":3,"operation":"plan"}}
{"type":"apply_start","hook":{"resource":{"addr":"a_b.c"},"action":"create"}}
{"type":"apply_progress","hook":{"resource":{"addr":"a_b.c"},"action":"create","elapsed_seconds":10}}
{"type":"apply_complete","hook":{"resource":{"addr":"a_b.c"},"action":"create","elapsed_seconds":75}}
{"type":"apply_errored","hook":{"resource":{"addr":"a_b.d"},"action":"delete","elapsed_seconds":2}}
{"@level":"error","type":"diagnostic","diagnostic":{"severity":"error","summary":"no","detail":"one\n  two","address":"a_b.d"}}
{"type":"diagnostic","diagnostic":{"severity":"warning","summary":"odd"}}
`

func TestEvents(t *testing.T) {
	for _, size := range []int{1, 7, len(recorded)} { // however the file grows
		var texts []string
		var add, change, remove int
		e := &events{on: func(e event) {
			if text := e.progress(); text != "" {
				texts = append(texts, text)
			}
			if e.Type == "change_summary" {
				add, change, remove = e.Changes.Add, e.Changes.Change, e.Changes.Remove
			}
		}}
		in := &lines{on: e.line}
		for rest := []byte(recorded); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := in.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		want := "a_b.c: creating|a_b.c: still creating after 10s|a_b.c: created in 1m15s|a_b.d: failed after 2s"
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("in pieces of %d: %s", size, got)
		}
		if add != 2 || change != 1 || remove != 3 {
			t.Errorf("%d, %d and %d changes", add, change, remove)
		}
		if len(e.errors) != 1 || e.errors[0].text() != "a_b.d: no: one two" {
			t.Errorf("errors %+v", e.errors)
		}
	}
}

// A program that writes without end, or anything at all, takes no memory without end.
func TestEventsAreBounded(t *testing.T) {
	seen := 0
	e := &events{on: func(event) { seen++ }}
	in := &lines{on: e.line}
	write := func(text string) {
		if _, err := in.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		write(strings.Repeat("x", maxLine/10))
		if len(in.part) > maxLine {
			t.Fatalf("%d bytes kept", len(in.part))
		}
	}
	write("\n" + recorded)
	if seen != strings.Count(recorded, "\n") {
		t.Errorf("%d events after a long line", seen)
	}
	long, err := json.Marshal(diagnostic{Severity: "error", Detail: strings.Repeat("é", 10*maxShown)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * maxDiagnostics {
		write(fmt.Sprintf("{\"type\":\"diagnostic\",\"diagnostic\":%s}\n", long))
	}
	if n := len([]rune(e.errors[1].Detail)); len(e.errors) != maxDiagnostics || n > maxShown+3 {
		t.Errorf("%d errors of %d characters", len(e.errors), n)
	}
}

func TestElapsed(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0s", "61.9": "1m1s", "-1": "an unknown time", "1e300": "an unknown time",
	} {
		var e event
		line := `{"type":"apply_complete","hook":{"resource":{"addr":"a"},"action":"create","elapsed_seconds":` +
			text + `}}`
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if got := e.progress(); got != "a: created in "+want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, r := range codes() {
		got, ok := refusal([]diagnostic{{Summary: "other"}, {Detail: "Code=\"" + r.Code + "\" x", Address: "a.b"}})
		if !ok || got.Code != r.Code || got.Resource != "a.b" || got.Meaning == "" {
			t.Errorf("%s is taken for %+v (%v)", r.Code, got, ok)
		}
	}
	if got, ok := refusal([]diagnostic{{Summary: "AuthorizationFailed", Detail: "no capacity to decide"}}); ok {
		t.Errorf("taken for %+v", got)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(recorded), 3)
	f.Add([]byte("{\n}\n{\"type\":\"diagnostic\",\"diagnostic\":null}\n[1]\nnull\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(1, size)
		e := &events{}
		e.on = func(one event) {
			if text := one.progress(); len([]rune(text)) > maxShown+100 {
				t.Errorf("a line of %d characters", len([]rune(text)))
			}
		}
		in := &lines{on: e.line}
		for rest := data; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := in.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		whole := &events{}
		inOne := &lines{on: whole.line}
		_, _ = inOne.Write(data)
		if len(e.errors) != len(whole.errors) || !bytes.Equal(in.part, inOne.part) {
			t.Errorf("in pieces of %d: %d errors and %q, in one %d and %q", size, len(e.errors), in.part,
				len(whole.errors), inOne.part)
		}
		_, _ = refusal(e.errors)
	})
}
