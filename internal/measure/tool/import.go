package tool

import (
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Imported is one run found in a recording.
type Imported struct {
	result.Measurement
	// Err says why the run has no result, or only a part of one.
	Err error
}

// mark says whether a line of a recording is of a tool, and what it is to it.
type mark int

// The marks, in their order within a run. A line with a mark of markCommand or more begins a new run if the current run
// already has a line with the same or a later mark: a banner after figures begins a new run.
const (
	markNone    mark = iota // not the tool's
	markWeak                // the tool's, anywhere in a run
	markCommand             // its command line in a transcript
	markBanner              // the first line that it prints
	markHeader              // a line before the figures
	markResult              // the first line of figures
	markTail                // a line of figures that can follow markResult
)

// Formats names the tools whose outputs Import reads.
func Formats() []string {
	var names []string
	for _, p := range programs() {
		names = append(names, p.declared.Name)
	}
	return names
}

// recognised names the tools whose outputs are recognised without the tool's name.
func recognised() []string {
	var names []string
	for _, p := range programs() {
		if p.mark != nil {
			names = append(names, p.declared.Name)
		}
	}
	return names
}

// MaxRuns is the greatest number of runs in a recording: as many as an experiment has trials.
const MaxRuns = experiment.MaxTrials

// Import reads a recording: a tool's output, or a whole terminal session with several. toolName is the tool that
// printed it; with "" the tool is recognised. Identical copies of a run count once. The error says that nothing was
// recognised.
func Import(data []byte, toolName string) ([]Imported, error) {
	known := slices.DeleteFunc(programs(), func(p program) bool { return toolName != "" && p.declared.Name != toolName })
	if len(known) == 0 {
		return nil, fmt.Errorf("unknown tool %q; known are %s", toolName, strings.Join(Formats(), ", "))
	}
	data, err := gunzip(data)
	if err != nil {
		return nil, err
	}
	text := plain(data)
	if strings.TrimSpace(text) == "" {
		return nil, errEmpty
	}
	runs := &runs{seen: map[[sha256.Size]byte]bool{}}
	if toolName == "" || toolName == iperf3Name || toolName == ntttcpName || toolName == nativeName ||
		known[0].documents != nil {
		var err error
		if text, err = runs.documents(text, toolName, known); err != nil {
			return nil, err
		}
	}
	read := func(p program, text string) {
		if p.parseAll != nil {
			runs.addAll(p.declared.Name, p.parseAll(text))
			return
		}
		m, err := p.parse(text)
		if err != nil && len(m.Metrics) == 0 && runs.byDocument[p.declared.Name] {
			return // text beside a document of the same tool, which says more
		}
		runs.add(p.declared.Name, text, m, err)
	}
	segments := 0
	for s := range split(text, known) {
		segments++
		if read(s.program, s.text); len(runs.found) > MaxRuns {
			break
		}
	}
	if toolName != "" && segments == 0 && len(runs.found) == 0 {
		read(known[0], text)
	}
	if len(runs.found) > MaxRuns {
		return nil, fmt.Errorf("it holds more than %d runs, the most that are read", MaxRuns)
	}
	if len(runs.found) == 0 {
		return nil, fmt.Errorf("no output of %s recognised", strings.Join(recognised(), ", "))
	}
	return runs.found, nil
}

// runs collects the runs that are found, each once, until there are more than MaxRuns.
type runs struct {
	found []Imported
	// seen has the hashes of their texts.
	seen       map[[sha256.Size]byte]bool
	byDocument map[string]bool
}

func (r *runs) add(tool, body string, m result.Measurement, err error) {
	if len(r.found) > MaxRuns {
		return
	}
	// Rules and empty lines may belong to the next run.
	hash := sha256.New()
	_, _ = io.WriteString(hash, tool) // a hash never fails
	for line := range strings.SplitSeq(body, "\n") {
		if line = strings.TrimSpace(line); strings.Trim(line, "-") != "" {
			_, _ = io.WriteString(hash, "\n")
			_, _ = io.WriteString(hash, line)
		}
	}
	key := [sha256.Size]byte(hash.Sum(nil))
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	r.found = append(r.found, Imported{Measurement: m, Err: err})
}

func (r *runs) addAll(tool string, found []foundRun) {
	for _, f := range found {
		r.add(tool, f.body, f.m, f.err)
	}
}

// documents reads the JSON and XML documents of the tools that are known, and gives the text that is left.
func (r *runs) documents(text, toolName string, known []program) (rest string, err error) {
	r.byDocument = map[string]bool{}
	if toolName == "" || toolName == ntttcpName {
		var docs []document
		docs, text = xmlDocuments(text)
		for _, d := range docs {
			m, err := parseNtttcpXML(d)
			r.add(ntttcpName, d.body, m, err)
			r.byDocument[ntttcpName] = true
		}
	}
	docs, rest := jsonDocuments(text)
	if len(docs) > maxDocuments {
		return "", fmt.Errorf("it holds more than %d JSON documents, the most that are read", maxDocuments)
	}
	var stream []document
	var native nativeRecords
	imported := importedDocuments(known)
	for _, d := range docs {
		switch {
		case imported.take(d):
		case toolName != "" && known[0].documents != nil:
		case (toolName == "" || toolName == nativeName) && native.take(d):
		case toolName == nativeName:
		case toolName != iperf3Name && isNtttcpJSON(d):
			m, err := parseNtttcpJSON(d)
			r.add(ntttcpName, d.body, m, err)
			r.byDocument[ntttcpName] = true
		case toolName == ntttcpName:
		case isIperf3Event(d):
			if startsIperf3(d) && len(stream) > 0 {
				r.addStream(stream)
				stream = nil
			}
			stream = append(stream, d)
		case isIperf3JSON(d):
			m, err := parseIperf3JSON(d)
			r.add(iperf3Name, d.body, m, err)
			r.byDocument[iperf3Name] = true
		}
	}
	if len(stream) > 0 {
		r.addStream(stream)
	}
	native.end()
	for _, lines := range native.found {
		m, err := parseNativeLines(lines)
		r.add(nativeName, strings.Join(lines, "\n"), m, err)
		r.byDocument[nativeName] = true
	}
	imported.end(r)
	return rest, nil
}

func (r *runs) addStream(events []document) {
	var bodies []string
	for _, e := range events {
		bodies = append(bodies, e.body)
	}
	m, err := parseIperf3Stream(events)
	r.add(iperf3Name, strings.Join(bodies, "\n"), m, err)
	r.byDocument[iperf3Name] = true
}

// segment is the part of a recording that holds one run.
type segment struct {
	program program
	text    string
}

// maxLine is the length of the longest line that is read, in bytes; longer lines are skipped. Only JSON has longer
// lines, and JSON documents are read before the lines.
const maxLine = 16 << 10

// recognise finds the tool that printed a line. Several tools may recognise a line, so the current tool comes first.
func recognise(known []program, current int, line string) (who int, found mark) {
	if strings.Trim(line, "0123456789 \t.,:-") == "" {
		return current, markNone // numbers without a word, such as the rows of a log
	}
	if current >= 0 {
		if found = known[current].mark(line); found != markNone {
			return current, found
		}
	}
	for i, f := range known {
		if i == current || f.mark == nil {
			continue
		}
		if found = f.mark(line); found != markNone {
			return i, found
		}
	}
	return current, markNone
}

// split cuts a recording into runs by the marks of its lines. Text before the first mark is dropped, and so is a
// command line without output.
func split(text string, known []program) iter.Seq[segment] {
	return func(yield func(segment) bool) { splitInto(yield, text, known) }
}

func splitInto(yield func(segment) bool, text string, known []program) {
	var parts []string // of the current segment, without the lines that are skipped
	begin, end := -1, 0
	current, reached, speaks := -1, markNone, false
	endPart := func() {
		if begin >= 0 {
			parts = append(parts, text[begin:end])
		}
		begin = -1
	}
	flush := func() (more bool) {
		endPart()
		more = current < 0 || !speaks || yield(segment{known[current], strings.Join(parts, "\n")})
		parts, reached, speaks = nil, markNone, false
		return more
	}
	at := 0
	for line := range strings.SplitSeq(text, "\n") {
		start := at
		at += len(line) + 1
		if len(line) > maxLine {
			endPart()
			continue
		}
		who, found := recognise(known, current, strings.TrimSpace(line))
		if found != markNone && (who != current || found >= markCommand && found <= reached) {
			if !flush() {
				return
			}
			current = who
		}
		if found != markNone {
			if found >= markCommand {
				reached = max(reached, found)
			}
			speaks = speaks || found != markCommand
		}
		if current >= 0 {
			if begin < 0 {
				begin = start
			}
			end = start + len(line)
		}
	}
	flush()
}
