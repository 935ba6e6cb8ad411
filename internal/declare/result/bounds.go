package result

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// The bounds of a trial's record. They are the same for making, writing and reading a record, so that every written
// record can be read.
const (
	// MaxEntries is the largest number of metrics of a trial, and of facts, notes, commands and files.
	MaxEntries = 10_000
	// MaxText is the largest number of characters in one text of a tool: a version, a note, a fact, a reason.
	MaxText = 1000
	// MaxTexts bounds all texts of a trial together, in bytes.
	MaxTexts = 2 << 20
	// MaxProof bounds the observations of a trial's hosts and their judgements together, in bytes of JSON.
	MaxProof = 1 << 20
	// MaxLine bounds the record as a line of JSON, in bytes. Every record within the other bounds fits: JSON writes a
	// byte of text as at most six, and a metric without its texts as about 150.
	MaxLine = 16 << 20
)

// maxCaptures is one for each side.
const maxCaptures = 2

// Check returns an error that names the bound which a record exceeds; nil for none.
func (t *Trial) Check() error {
	for _, list := range []struct {
		of string
		n  int
	}{
		{"metrics", len(t.Metrics)}, {"facts", len(t.Facts)}, {"facts of the treatment", len(t.Treatment)},
		{"notes", len(t.Notes)}, {"commands", len(t.Commands)}, {"files", len(t.Raw)},
		{"recordings", len(t.Inside)},
	} {
		if list.n > MaxEntries {
			return fmt.Errorf("%d %s; a trial can have %d", list.n, list.of, MaxEntries)
		}
	}
	if len(t.Captures) > maxCaptures {
		return fmt.Errorf("%d captures; a trial can have %d", len(t.Captures), maxCaptures)
	}
	for _, c := range t.Captures {
		if err := c.Check(); err != nil {
			return err
		}
	}
	if n := t.textBytes(); n > MaxTexts {
		return fmt.Errorf("%d bytes of text; a trial can have %d", n, MaxTexts)
	}
	if n := t.proofBytes(); n > MaxProof {
		return fmt.Errorf("%d bytes of what was seen of its hosts; a trial can have %d", n, MaxProof)
	}
	return nil
}

// proofBytes counts the bytes of the observations of the hosts and of the judgements, as JSON.
func (t *Trial) proofBytes() int {
	if t.Observed == nil && t.Counters == nil && t.Wire == nil && t.Expect == nil {
		return 0
	}
	data, err := json.Marshal([]any{t.Observed, t.Counters, t.Wire, t.Expect})
	if err != nil {
		return MaxProof + 1
	}
	return len(data)
}

// textBytes counts the bytes of all texts.
func (t *Trial) textBytes() int {
	n := 0
	for _, s := range []string{t.Arm, t.Workload, t.Tool.Name, t.Tool.Version, t.Mode, t.Protocol, t.ReportedAs,
		t.Definition, t.Histogram, t.Error} {
		n += len(s)
	}
	for _, m := range t.Metrics {
		n += len(m.Name) + len(m.Stat) + len(m.Unit) + len(m.Scope)
	}
	for _, texts := range [][]string{t.Raw, t.Inside, t.Notes, t.Commands} {
		for _, s := range texts {
			n += len(s)
		}
	}
	for _, facts := range []map[string]string{t.Facts, t.Treatment} {
		for k, v := range facts {
			n += len(k) + len(v)
		}
	}
	return n
}

// Shorten cuts each text that came from a tool to MaxText characters. A text that was cut ends in "...".
func (t *Trial) Shorten() {
	for _, text := range []*string{&t.Tool.Name, &t.Tool.Version, &t.Mode, &t.Protocol, &t.Error} {
		*text = shortened(*text)
	}
	for i := range t.Metrics {
		t.Metrics[i].Scope = shortened(t.Metrics[i].Scope)
	}
	for i := range t.Notes {
		t.Notes[i] = shortened(t.Notes[i])
	}
	for _, facts := range []map[string]string{t.Facts, t.Treatment} {
		for k, v := range facts {
			facts[k] = shortened(v)
		}
	}
	for i := range t.Expect {
		t.Expect[i].Evidence = shortened(t.Expect[i].Evidence)
	}
}

// Bound makes a record fit the bounds. It cuts its texts. If the record still exceeds a bound, the trial becomes a
// failed one with the reason, and has no figures, because a part of them could be taken for all. The files still hold
// the tool's output. If the observations of the hosts are too long, they are left out, with a note; the judgements
// stay.
func (t *Trial) Bound() {
	t.Shorten()
	if t.proofBytes() > MaxProof {
		t.Observed, t.Counters, t.Wire = nil, nil, nil
		t.Notes = append(t.Notes, "What was seen of the hosts is too long to be kept.")
	}
	err := t.Check()
	if err == nil {
		return
	}
	t.Metrics, t.Facts, t.Treatment, t.Notes, t.Expect = []Metric{}, nil, map[string]string{}, nil, nil
	t.Definition, t.ReportedAs = DefinitionNone, DefinitionNone
	reason := fmt.Sprintf("its output holds %v", err)
	if t.Error != "" {
		reason = t.Error + "; " + reason
	}
	t.Error = shortened(reason)
	if t.Check() != nil { // the command lines, which do not come from a tool
		t.Commands = nil
	}
}

func shortened(s string) string {
	if len(s) <= MaxText || utf8.RuneCountInString(s) <= MaxText {
		return s
	}
	n := 0
	for i := range s {
		if n == MaxText {
			return s[:i] + "..."
		}
		n++
	}
	return s
}
