package tool

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImportNativeTranscript reads several runs of the engine in one recording: indented by another program, cut off,
// and between words and another tool's output.
func TestImportNativeTranscript(t *testing.T) {
	whole := readNative(t, "rr-tcp.jsonl")
	var indented bytes.Buffer
	for line := range bytes.Lines(readNative(t, "stream.jsonl")) {
		if err := json.Indent(&indented, bytes.TrimSpace(line), "", "  "); err != nil {
			t.Fatal(err)
		}
		indented.WriteByte('\n')
	}
	lines := bytes.SplitAfter(readNative(t, "crr.jsonl"), []byte("\n"))
	session := "$ nearfar engine rr 10.0.0.2 -f json\n" + string(whole) + "$ nearfar engine stream 10.0.0.2 -f json | jq .\n" + indented.String() +
		"$ nearfar engine rr 10.0.0.3 -f json\n" + string(readNative(t, "failed-refused.jsonl")) +
		"$ ping -c1 10.0.0.9\n" + iputilsPing + "$ nearfar engine crr 10.0.0.2 -f json\n" + string(bytes.Join(lines[:2],
		nil)) + "^C\n"
	found, err := Import([]byte(session), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		what := f.Tool.Name + " " + f.Mode
		if f.Err != nil {
			what += ": " + f.Err.Error()
		}
		got = append(got, what)
	}
	want := []string{"native rr", "native stream",
		"native : native: connecting to the server: dial tcp 127.0.0.1:7901: connect: connection refused",
		"native crr: native: the engine's output ends before its result: it was cut short", "ping ping"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if found[0].Facts[factIP] != "4" || len(found[0].Histogram) == 0 {
		t.Errorf("ip %q, histogram of %d bytes", found[0].Facts[factIP], len(found[0].Histogram))
	}
}

// TestImportLeavesOthersJSON leaves objects alone that only look like the engine's.
func TestImportLeavesOthersJSON(t *testing.T) {
	for _, text := range []string{
		`{"type":"error","message":"x","code":3}`, `{"type":"error","message":7}`, `{"type":"start","mode":"rr"}`,
		`{"type":"result","version":"1"}`, `{"type":"interval","second":1}`,
	} {
		if found, err := Import([]byte(text), ""); err == nil || !strings.Contains(err.Error(), "no output of") {
			t.Errorf("%s: %v, %v", text, found, err)
		}
	}
}
