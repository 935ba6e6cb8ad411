package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/netip"
	"strings"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/record"
)

// nativeLine holds the keys by which the engine's JSON objects are recognised.
type nativeLine struct {
	Type string `json:"type"`
	Mode string `json:"mode"`
	// Message is the text of an error, or a size in the first line.
	Message any `json:"message"`
	// Warmup is only in the first line.
	Warmup *float64 `json:"warmup_seconds"`
}

// nativeMark recognises no line: the engine prints JSON, which is read before.
func nativeMark(string) mark { return markNone }

// nativeRecords groups the objects that `nearfar engine ... -f json` printed into runs.
type nativeRecords struct {
	lines []string
	found [][]string
}

// take adds a JSON object, and reports whether the engine printed it.
func (n *nativeRecords) take(d document) bool {
	var line nativeLine
	if d.truncated || json.Unmarshal([]byte(d.body), &line) != nil {
		return false
	}
	_, failure := line.Message.(string)
	switch {
	case line.Type == "start" && line.Mode != "" && line.Warmup != nil:
		n.end()
		n.lines = append(n.lines, d.body)
	case line.Type == "interval" && len(n.lines) > 0:
		n.lines = append(n.lines, d.body)
	case line.Type == "result" && len(n.lines) > 0, line.Type == "error" && failure && (len(n.lines) > 0 || alone(d)):
		n.lines = append(n.lines, d.body)
		n.end()
	default:
		return false
	}
	return true
}

// alone reports whether an error has only its type and message, as the engine prints it if the run never began.
func alone(d document) bool {
	var keys map[string]json.RawMessage
	return json.Unmarshal([]byte(d.body), &keys) == nil && len(keys) == 2
}

// end ends the current run.
func (n *nativeRecords) end() {
	if len(n.lines) > 0 {
		n.found = append(n.found, n.lines)
	}
	n.lines = nil
}

// parseNativeLines reads the objects of one run, in any layout of JSON.
func parseNativeLines(lines []string) (result.Measurement, error) {
	var text bytes.Buffer
	for _, line := range lines {
		if err := json.Compact(&text, []byte(line)); err != nil {
			return newMeasured(nativeName).Measurement, err
		}
		text.WriteByte('\n')
	}
	return parseNative(text.String())
}

// parseNative reads what one execution of the engine printed with -f json.
func parseNative(text string) (result.Measurement, error) {
	parsed, err := (&Native{}).Parse(Output{Stdout: []byte(text)})
	if parsed.Definition == "" {
		parsed.Definition, parsed.ReportedAs = result.DefinitionNone, result.DefinitionNone
	}
	m := measured{parsed}
	if start, ok := nativeStart(text); ok {
		// A run that was cut off has no other description.
		m.Mode, m.Protocol = cmp.Or(m.Mode, excerpt(start.Mode)), cmp.Or(m.Protocol, excerpt(start.Protocol))
		if server, err := netip.ParseAddrPort(start.Server); err == nil && m.Facts[factIP] == "" {
			m.ip(server.Addr().String())
		}
	}
	return m.Measurement, err
}

// nativeStart reads the first line, which has the server and the parameters.
func nativeStart(text string) (record.Start, bool) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	var start record.Start
	err := json.Unmarshal([]byte(first), &start)
	return start, err == nil && start.Type == "start"
}
