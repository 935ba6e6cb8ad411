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

	"nearfar/internal/clean"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// canary is what no text from elsewhere may do to a terminal: set the title, clear the screen, colour, go back to the
// beginning of the line, turn the text around, hide parts of it.
const canary = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u009b2J\r\u202e\u2066\u2028\u200b\U000e0041\x7f"

// brokenByte stands in JSON for the byte 0x9b, which is CSI to a terminal that takes 8-bit characters, and no UTF-8.
const brokenByte = "BROKEN-BYTE"

// nearfarSays runs the command line and fails the test where a character comes out that a terminal does not just show.
func nearfarSays(t *testing.T, what string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	Main(args, strings.NewReader(""), &stdout, &stderr)
	wantPlain(t, fmt.Sprintf("%s, nearfar %.300q, standard output", what, args), stdout.String())
	wantPlain(t, fmt.Sprintf("%s, nearfar %.300q, standard error", what, args), stderr.String())
	return stdout.String() + stderr.String()
}

// wantPlain fails the test where the text holds a character that a terminal acts on.
func wantPlain(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && !clean.Shown(r) {
			t.Errorf("%s: %q in %q", what, r, text[max(0, i-100):min(len(text), i+100)])
			return
		}
	}
}

// field is a way to a value in a JSON document: keys, "[]" for the first element of a list, and "{}" for each of a map.
type field []string

// fieldsOf lists the values that a type can have in JSON, down to numbers and texts.
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
		for i := range typ.NumField() {
			f := typ.Field(i)
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

// with sets the value at the field, and gives the document; what is missing on the way is made. A map gets the value
// as a key too.
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

// hostile are documents of a run: run.json and the lines of trials.jsonl.
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

// write makes a run directory of the documents.
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

// renamed puts the new text wherever the old one stands alone, as a value or as a key.
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

// canaryRun is a run whose texts a test replaces; its figures differ, and one trial failed.
func canaryRun() madeRun {
	return madeRun{arms: []string{"l2", "vxlan"}, workloads: []string{"rr"}, blocks: 7, seed: 3, level: 1e-5,
		scatter: 0.01, factor: map[string]float64{"vxlan": 1.2}, text: "said", objectives: []string{"rr rtt.p99 < 1ms"}}
}

// TestCanaryInRuns puts the canary into every field of a run, each by itself, whatever its type. Fields are taken
// from the types, so that a new one is tried too. Names are also changed everywhere at once, as a run directory from
// elsewhere could have them.
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
	for _, at := range fieldsOf(reflect.TypeFor[labRecord](), field{"hosts"}, nil) {
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
	for _, old := range []string{"made", "What was made up?", "l2", "vxlan", "rr", "native", "0.1.0", "tcp", "rtt", "p50", "s",
		"said", "shared", "bridge", "rr rtt.p99 < 1ms", "complete"} {
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
		t.Errorf("the canary was seen, escaped, in %d outputs only: it did not get far", shown)
	}
	t.Logf("%d runs; the canary was seen, escaped, in %d outputs", n, shown)
}
