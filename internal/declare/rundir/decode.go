package rundir

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
)

// decoder reads the lines of trials.jsonl. A line as this program writes it is read in one pass; every other line, also
// an invalid one, goes to encoding/json, whose result is the same but takes several times as long.
//
// Texts that occur again and again are kept once. With brief, the trials are as result.Trial.Brief leaves them, and
// those with the same facts, observations and judgements share them.
type decoder struct {
	brief bool
	texts map[string]string
	// parts has what was read from a piece of JSON before, by that piece.
	parts   map[string]any
	metrics []result.Metric
	// t is the trial that is read, by the fields; line counts the lines.
	t      result.Trial
	fields map[string]*field
	line   int
	// b is the line, at the next byte.
	b  []byte
	at int
}

// The bounds on what a decoder keeps to share: texts, their length, and pieces of JSON.
const (
	maxTexts    = 1 << 16
	maxTextKept = 128
	maxParts    = 1 << 12
)

func newDecoder(brief bool) *decoder {
	d := &decoder{brief: brief, texts: map[string]string{}, parts: map[string]any{}, fields: map[string]*field{}}
	for key, read := range d.readers() {
		d.fields[key] = &field{read: read}
	}
	return d
}

// withinBounds is the length up to which a line cannot exceed the bounds of result.Trial.Check: an entry takes three
// bytes or more, and no value grows to 64 times its length when it is written again.
const withinBounds = min(3*result.MaxEntries, result.MaxProof/64)

// trial reads a line.
func (d *decoder) trial(line []byte) (result.Trial, error) {
	d.b, d.at = line, 0
	if len(line) <= withinBounds {
		d.t = result.Trial{}
		if d.fast() {
			return d.t, nil
		}
	}
	t, err := readTrial(line)
	if err == nil && d.brief {
		t.Brief()
	}
	return t, err
}

// fast reads a line in one pass. It is false for a line that this program does not write.
func (d *decoder) fast() bool {
	d.line++
	ok := d.object(func(key []byte) bool {
		f := d.fields[string(key)]
		if f == nil || f.line == d.line {
			return false
		}
		f.line = d.line
		return f.read()
	})
	return ok && len(bytes.Trim(d.b[d.at:], " \t\r\n")) == 0 // RFC 8259, section 2
}

// field is a key of a trial.
type field struct {
	read func() bool
	// line is the number of the last line that had the key.
	line int
}

// readers are what reads the value of each key of a trial.
func (d *decoder) readers() map[string]func() bool {
	t := &d.t
	return map[string]func() bool{
		"trial":         func() bool { return d.integer(&t.Trial) },
		"block":         func() bool { return d.integer(&t.Block) },
		"arm":           func() bool { return d.text(&t.Arm) },
		"workload":      func() bool { return d.text(&t.Workload) },
		"deployment":    func() bool { return d.integer(&t.Deployment) },
		"repeat":        func() bool { return d.integer(&t.Repeat) },
		"replaces":      func() bool { return d.integer(&t.Replaces) },
		"tool":          func() bool { return shared(d, &t.Tool) },
		"mode":          func() bool { return d.text(&t.Mode) },
		"protocol":      func() bool { return d.text(&t.Protocol) },
		"message_bytes": func() bool { return shared(d, &t.MessageBytes) },
		"started": func() bool {
			piece, ok := d.piece()
			return ok && t.Started.UnmarshalJSON(piece) == nil
		},
		"duration_seconds": func() bool { return d.number(&t.DurationSeconds) },
		"reported_as":      func() bool { return d.text(&t.ReportedAs) },
		"definition":       func() bool { return d.text(&t.Definition) },
		"metrics":          func() bool { return d.allMetrics(&t.Metrics) },
		"histogram":        func() bool { return d.text(&t.Histogram) },
		"inside":           func() bool { return d.list(&t.Inside, true) },
		"captures":         func() bool { return shared(d, &t.Captures) },
		"raw":              func() bool { return d.list(&t.Raw, !d.brief) },
		"set":              func() bool { return d.facts(&t.Set, false) },
		"treatment":        func() bool { return d.facts(&t.Treatment, false) },
		"facts":            func() bool { return d.facts(&t.Facts, d.brief) },
		"observed":         func() bool { return shared(d, &t.Observed) },
		"counters":         func() bool { return d.counters(t) },
		"wire":             func() bool { return d.brief && d.skipped() || !d.brief && shared(d, &t.Wire) },
		"expect":           func() bool { return shared(d, &t.Expect) },
		"commands":         func() bool { return d.list(&t.Commands, !d.brief) },
		"notes":            func() bool { return d.list(&t.Notes, true) },
		"error":            func() bool { return d.text(&t.Error) },
	}
}

// next skips a byte if it is the next one.
func (d *decoder) next(c byte) bool {
	if d.at < len(d.b) && d.b[d.at] == c {
		d.at++
		return true
	}
	return false
}

// object reads an object, calling value at the value of each key.
func (d *decoder) object(value func(key []byte) bool) bool {
	if !d.next('{') {
		return false
	}
	if d.next('}') {
		return true
	}
	for {
		key, plain := d.quoted()
		if !plain || !d.next(':') || !value(key) {
			return false
		}
		if d.next('}') {
			return true
		}
		if !d.next(',') {
			return false
		}
	}
}

// array reads an array, calling value at each element.
func (d *decoder) array(value func() bool) bool {
	if !d.next('[') {
		return false
	}
	if d.next(']') {
		return true
	}
	for {
		if !value() {
			return false
		}
		if d.next(']') {
			return true
		}
		if !d.next(',') {
			return false
		}
	}
}

// null skips a null.
func (d *decoder) null() bool {
	if bytes.HasPrefix(d.b[d.at:], []byte("null")) {
		d.at += len("null")
		return true
	}
	return false
}

// quoted reads a text of valid UTF-8 without escapes. It is false for any other, and leaves the place unchanged.
func (d *decoder) quoted() ([]byte, bool) {
	if d.at >= len(d.b) || d.b[d.at] != '"' {
		return nil, false
	}
	ascii := true
	for i := d.at + 1; i < len(d.b); i++ {
		switch c := d.b[i]; {
		case c == '"':
			text := d.b[d.at+1 : i]
			if !ascii && !utf8.Valid(text) {
				return nil, false
			}
			d.at = i + 1
			return text, true
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// text reads a text.
func (d *decoder) text(into *string) bool {
	if text, ok := d.quoted(); ok {
		*into = d.kept(text)
		return true
	}
	piece, ok := d.piece()
	return ok && piece[0] == '"' && json.Unmarshal(piece, into) == nil
}

// kept is the text as a string, the same string for the same text.
func (d *decoder) kept(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if s, ok := d.texts[string(text)]; ok {
		return s
	}
	s := string(text)
	if len(text) <= maxTextKept && len(d.texts) < maxTexts {
		d.texts[s] = s
	}
	return s
}

// piece reads a value of any kind as it is, without checking more than where it ends.
func (d *decoder) piece() ([]byte, bool) {
	depth, from := 0, d.at
	for i := d.at; i < len(d.b); i++ {
		switch d.b[i] {
		case '"':
			for i++; i < len(d.b) && d.b[i] != '"'; i++ {
				if d.b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 { // the end of what holds the value
				d.at = i
				return d.b[from:i], i > from
			}
		case ',':
			if depth == 0 {
				d.at = i
				return d.b[from:i], i > from
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			d.at = min(i+1, len(d.b))
			return d.b[from:d.at], true
		}
	}
	return nil, false
}

// literal reads the bytes of a number.
func (d *decoder) literal() []byte {
	from := d.at
	for d.at < len(d.b) && (d.b[d.at] >= '0' && d.b[d.at] <= '9' || bytes.IndexByte([]byte("+-.eE"), d.b[d.at]) >= 0) {
		d.at++
	}
	return d.b[from:d.at]
}

func (d *decoder) integer(into *int) bool {
	s := d.literal()
	if !isNumber(s) {
		return false
	}
	n, err := strconv.Atoi(string(s))
	*into = n
	return err == nil
}

func (d *decoder) number(into *float64) bool {
	s := d.literal()
	if !isNumber(s) {
		return false
	}
	v, err := strconv.ParseFloat(string(s), 64)
	*into = v
	return err == nil
}

// isNumber says whether a text that strconv reads as a number is one in JSON (RFC 8259, section 6): it has no plus sign
// or zeros before it, and digits on both sides of a point.
func isNumber(s []byte) bool {
	s = bytes.TrimPrefix(s, []byte("-"))
	digit := func(i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	point := bytes.IndexByte(s, '.')
	leadingZero := digit(1) && s[0] == '0'
	return digit(0) && !leadingZero && (point < 0 || digit(point+1))
}

// allMetrics reads the metrics.
func (d *decoder) allMetrics(into *[]result.Metric) bool {
	if d.null() {
		return true
	}
	d.metrics = d.metrics[:0]
	if !d.array(func() bool {
		d.metrics = append(d.metrics, result.Metric{})
		m := &d.metrics[len(d.metrics)-1]
		var seen [6]bool
		return d.object(func(key []byte) bool {
			k := slices.Index(metricKeys(), string(key))
			if k < 0 || seen[k] {
				return false
			}
			seen[k] = true
			switch k {
			case 0:
				return d.text(&m.Name)
			case 1:
				return d.text(&m.Stat)
			case 2:
				return d.text(&m.Unit)
			case 3:
				return d.text(&m.Scope)
			case 5:
				var text string
				ok := d.text(&text)
				m.BetterIf = result.BetterIfOf(text)
				return ok
			}
			return d.number(&m.Value)
		})
	}) {
		return false
	}
	*into = append(make([]result.Metric, 0, len(d.metrics)), d.metrics...)
	return true
}

// metricKeys are the keys of a metric.
func metricKeys() []string { return []string{"name", "stat", "unit", "scope", "value", "better_if"} }

// list reads a list of texts. If it is not to be kept, it is only checked.
func (d *decoder) list(into *[]string, keep bool) bool {
	if d.null() {
		return true
	}
	all := []string{}
	ok := d.array(func() bool {
		if !keep {
			if _, ok := d.quoted(); ok {
				return true
			}
		}
		var s string
		ok := d.text(&s)
		if keep {
			all = append(all, s)
		}
		return ok
	})
	if keep {
		*into = all
	}
	return ok
}

// facts reads texts by name: all, or only those that answers are made from.
func (d *decoder) facts(into *map[string]string, brief bool) bool {
	if d.brief && !brief {
		return shared(d, into)
	}
	if d.null() {
		return true
	}
	all := map[string]string{}
	ok := d.object(func(key []byte) bool {
		if brief && !result.InAnswer(string(key)) {
			if _, ok := d.quoted(); ok {
				return true
			}
			var s string
			return d.text(&s)
		}
		var s string
		ok := d.text(&s)
		all[d.kept(key)] = s
		return ok
	})
	if *into = all; brief && len(all) == 0 {
		*into = nil
	}
	return ok
}

// counters reads the counters. Brief trials have only those in which a limiter acted.
func (d *decoder) counters(t *result.Trial) bool {
	if !d.brief {
		return shared(d, &t.Counters)
	}
	from := d.at
	if d.skipped() && !bytes.Contains(d.b[from:d.at], []byte(check.LimiterSuffix)) {
		return true
	}
	d.at = from
	piece, ok := d.piece()
	if !ok || json.Unmarshal(piece, &t.Counters) != nil {
		return false
	}
	t.BriefCounters()
	return true
}

// skipped leaves out an object without escapes. Only that it is JSON is checked.
func (d *decoder) skipped() bool {
	piece, ok := d.piece()
	return ok && piece[0] == '{' && bytes.IndexByte(piece, '\\') < 0 && json.Valid(piece)
}

// shared reads a value with encoding/json. Brief trials with the same piece of JSON share the value.
func shared[T any](d *decoder, into *T) bool {
	piece, ok := d.piece()
	if !ok {
		return false
	}
	if d.brief {
		if v, known := d.parts[string(piece)].(T); known {
			*into = v
			return true
		}
	}
	if json.Unmarshal(piece, into) != nil {
		return false
	}
	if d.brief && len(d.parts) < maxParts && len(piece) <= 1<<12 {
		d.parts[string(piece)] = *into
	}
	return true
}
