package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/deploy"
)

// canary has escape sequences and characters that must not reach a terminal: they set the title, clear the screen, set
// a colour, return to the beginning of the line, reverse the text, or are invisible.
const canary = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u009b2J\r\u202e\u2066\u2028\u200b\U000e0041\x7f"

// brokenByte stands in JSON for the byte 0x9b. It is not valid UTF-8, and an 8-bit terminal reads it as CSI.
const brokenByte = "BROKEN-BYTE"

// nearfarSays runs the command line and returns its output. It fails the test if the output has a character that
// a terminal acts on.
func nearfarSays(t *testing.T, what string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	Main(args, strings.NewReader(""), &stdout, &stderr)
	wantPlain(t, fmt.Sprintf("%s, nearfar %.300q, standard output", what, args), stdout.String())
	wantPlain(t, fmt.Sprintf("%s, nearfar %.300q, standard error", what, args), stderr.String())
	return stdout.String() + stderr.String()
}

// wantPlain fails the test if the text has a character that a terminal acts on.
func wantPlain(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && !clean.Shown(r) {
			t.Errorf("%s: %q in %q", what, r, text[max(0, i-100):min(len(text), i+100)])
			return
		}
	}
}

// field is the path of a value in a JSON document: keys, "[]" for the first element of a list, "{}" for every element
// of a map.
type field []string

// fieldsOf lists the paths of all numbers and texts that a type can have in JSON.
func fieldsOf(typ reflect.Type, at field, seen []reflect.Type) []field {
	if slices.Contains(seen, typ) {
		return nil // a background has no background
	}
	below := append(slices.Clone(seen), typ)
	if typ.Implements(reflect.TypeFor[json.Marshaler]()) || typ == reflect.TypeFor[time.Time]() {
		return []field{at}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return fieldsOf(typ.Elem(), at, seen)
	case reflect.Slice, reflect.Array:
		return fieldsOf(typ.Elem(), append(slices.Clone(at), "[]"), seen)
	case reflect.Map:
		return fieldsOf(typ.Elem(), append(slices.Clone(at), "{}"), seen)
	case reflect.Struct:
		var all []field
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				all = append(all, fieldsOf(f.Type, at, below)...)
			case name != "-" && f.IsExported():
				if name == "" {
					name = f.Name
				}
				all = append(all, fieldsOf(f.Type, append(slices.Clone(at), name), below)...)
			}
		}
		return all
	}
	return []field{at}
}

// with sets the value at the field, and returns the document. It creates missing objects and lists on the path. A map
// gets the value as a key too.
func (at field) with(document any, value string) any {
	if len(at) == 0 {
		return value
	}
	if at[0] == "[]" {
		list, _ := document.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list[0] = at[1:].with(list[0], value)
		return list
	}
	object, _ := document.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	if at[0] != "{}" {
		object[at[0]] = at[1:].with(object[at[0]], value)
		return object
	}
	for key := range object {
		object[key] = at[1:].with(object[key], value)
	}
	object[value] = at[1:].with(nil, value)
	return object
}

// hostile has the documents of a run: run.json and the lines of trials.jsonl.
type hostile struct {
	manifest map[string]any
	trials   []any
}

// readHostile reads a run directory as plain JSON.
func readHostile(t *testing.T, run string) hostile {
	t.Helper()
	var h hostile
	for _, name := range []string{"run.json", "trials.jsonl"} {
		data, err := os.ReadFile(filepath.Join(run, name))
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
			var document map[string]any
			if err := d.Decode(&document); err != nil {
				t.Fatal(err)
			}
			if name == "run.json" {
				h.manifest = document
			} else {
				h.trials = append(h.trials, document)
			}
		}
	}
	return h
}

// write makes a run directory from the documents.
func (h hostile) write(t *testing.T, run string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(run, "raw"), 0o755); err != nil {
		t.Fatal(err)
	}
	lines := []any{h.manifest}
	for i, name := range []string{"run.json", "trials.jsonl"} {
		if i == 1 {
			lines = h.trials
		}
		var data []byte
		for _, document := range lines {
			line, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			data = append(append(data, line...), '\n')
		}
		data = bytes.ReplaceAll(data, []byte(brokenByte), []byte{0x9b})
		if err := os.WriteFile(filepath.Join(run, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// renamed replaces every value and every key that is equal to old.
func renamed(document any, old, name string) any {
	switch d := document.(type) {
	case string:
		if d == old {
			return name
		}
	case []any:
		for i := range d {
			d[i] = renamed(d[i], old, name)
		}
	case map[string]any:
		for key, value := range d {
			delete(d, key)
			if key == old {
				key = name
			}
			d[key] = renamed(value, old, name)
		}
	}
	return document
}

// canaryRun is a run whose texts a test replaces. Its arms differ, and the trials of its first block failed.
func canaryRun() madeRun {
	return madeRun{arms: []string{"l2", "vxlan"}, workloads: []string{"rr"}, blocks: 7, seed: 3, level: 1e-5,
		scatter: 0.01, factor: map[string]float64{"vxlan": 1.2}, text: "said", objectives: []string{"rr rtt.p99 < 1ms"}}
}

// TestCanaryInRuns puts the canary into every field of a run, one at a time, whatever the field's type. The fields come
// from the types, so that new fields are tested too. Names are also changed in all places at once, as in a consistent
// run directory from an untrusted source.
func TestCanaryInRuns(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(base, "cache"))
	t.Setenv("LC_ALL", "C.UTF-8")
	good := filepath.Join(base, "good")
	if err := canaryRun().write(good); err != nil {
		t.Fatal(err)
	}
	text := canary + brokenByte
	shown, n := 0, 0
	try := func(what string, h hostile, verbs ...[]string) {
		n++
		run := filepath.Join(base, "runs", fmt.Sprintf("%04d", n))
		h.write(t, run)
		for _, verb := range verbs {
			args := slices.Clone(verb)
			for i, arg := range args {
				if arg == "RUN" {
					args[i] = run
				}
			}
			if strings.Contains(nearfarSays(t, what, args...), `\u001b]0;owned\u0007`) {
				shown++
			}
		}
	}
	few := [][]string{{"report", "RUN"}, {"report", "-f", "csv", "RUN"}}
	all := append(slices.Clone(few), []string{"report", "-f", "markdown", "RUN"},
		[]string{"compare", good, "RUN"}, []string{"compare", "RUN:" + canary, "RUN:l2"}, []string{"gate", "RUN"},
		[]string{"gate", good, "RUN", "--fail-if", "rr rtt.p50 > +5%"}, []string{"gate", "RUN", "-f", "github"},
		[]string{"gate", "RUN", "-f", "markdown"})
	for _, at := range fieldsOf(reflect.TypeFor[rundir.Manifest](), nil, nil) {
		h := readHostile(t, good)
		at.with(h.manifest, text)
		try(fmt.Sprint("run.json ", at), h, few...)
	}
	for _, at := range fieldsOf(reflect.TypeFor[deploy.Record](), field{"hosts"}, nil) {
		h := readHostile(t, good)
		at.with(h.manifest, text)
		try(fmt.Sprint("run.json ", at), h, few[0])
	}
	for _, at := range fieldsOf(reflect.TypeFor[result.Trial](), nil, nil) {
		h := readHostile(t, good)
		for _, trial := range h.trials {
			at.with(trial, text)
		}
		try(fmt.Sprint("trials.jsonl ", at), h, few...)
	}
	for _, old := range []string{
		"made", "What was made up?", "l2", "vxlan", "rr", "native", "0.1.0", "tcp", "rtt", "p50", "s",
		"said", "shared", "bridge", "rr rtt.p99 < 1ms", "complete",
	} {
		h := readHostile(t, good)
		renamed(h.manifest, old, old+text)
		renamed(h.trials, old, old+text)
		try(fmt.Sprintf("%q everywhere", old), h, all...)
	}
	for _, format := range []string{"terminal", "markdown", "csv"} {
		nearfarSays(t, "all runs", "history", "-f", format, filepath.Join(base, "runs"))
	}
	nearfarSays(t, "all runs", "history", "--arm", canary, filepath.Join(base, "runs"))
	if shown < 20 {
		t.Errorf("only %d outputs have the escaped canary: too few to show that it is escaped", shown)
	}
	t.Logf("%d runs; %d outputs have the escaped canary", n, shown)
}
