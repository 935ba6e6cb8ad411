package tool

import (
	"errors"
	"fmt"
	"strings"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// importedPrograms lists the tools whose outputs are read, and which nearfar does not run. Each has a file of its own,
// which says where its format is defined.
func importedPrograms() []program {
	return []program{
		k8sNetperfProgram(), perftestProgram(), neperProgram(), uperfProgram(), pkbProgram(), flentProgram(),
		ctsTrafficProgram(), ncpsProgram(),
	}
}

// readOnly declares a tool that is only read: what it prints, and the versions whose outputs were read.
func readOnly(name, prints, versions string) program {
	return program{
		declared: experiment.Tool{Name: name, Prints: prints, Versions: versions},
		mark:     func(string) mark { return markNone },
		parse:    noText(name),
	}
}

// noText is the reader of texts of a tool whose results are documents.
func noText(name string) func(string) (result.Measurement, error) {
	return func(string) (result.Measurement, error) {
		return newMeasured(name).Measurement, errors.New(name + ": no result of it is in the output")
	}
}

// A foundRun is one of several runs that a reader found, with the text that says it.
type foundRun struct {
	body string
	m    result.Measurement
	err  error
}

// A documentReader reads the JSON documents of one tool, in their order in the recording.
type documentReader interface {
	// take reports whether the document is the tool's.
	take(d document) bool
	// runs gives what was found. It is called once, after the last document.
	runs() []foundRun
}

// eachDocument is the reader of a tool whose documents each hold a number of runs.
type eachDocument struct {
	name string
	// keys are in each document, and hardly together in another one.
	keys  []string
	is    func(d document) bool
	parse func(d document) []foundRun
	found []foundRun
}

func (e *eachDocument) take(d document) bool {
	for _, key := range e.keys {
		if !d.truncated && !strings.Contains(d.body, key) {
			return false
		}
	}
	switch {
	case len(d.body) > maxSmallDocument && !d.truncated:
		err := fmt.Errorf("%s: its JSON is larger than any that it writes", e.name)
		e.found = append(e.found, foundRun{d.body[:maxLine], newMeasured(e.name).Measurement, err})
	case !e.is(d):
		return false
	case len(e.found) > MaxRuns:
	default:
		e.found = append(e.found, e.parse(d)...)
	}
	return true
}

// maxSmallDocument bounds the documents of tools that write one for each run, in bytes.
const maxSmallDocument = 4 << 20

func (e *eachDocument) runs() []foundRun { return e.found }

// documentReaders are the readers of the tools that are known.
type documentReaders struct {
	names   []string
	readers []documentReader
}

func importedDocuments(known []program) *documentReaders {
	r := &documentReaders{}
	for _, p := range known {
		if p.documents != nil {
			r.names, r.readers = append(r.names, p.declared.Name), append(r.readers, p.documents())
		}
	}
	return r
}

func (r *documentReaders) take(d document) bool {
	for _, reader := range r.readers {
		if reader.take(d) {
			return true
		}
	}
	return false
}

// end hands over what all readers found.
func (r *documentReaders) end(to *runs) {
	for i, reader := range r.readers {
		if found := reader.runs(); len(found) > 0 {
			to.addAll(r.names[i], found)
			to.byDocument[r.names[i]] = true
		}
	}
}

// lower gives a word of an output as a name: without spaces around it, in lower case, short.
func lower(word string) string { return strings.ToLower(excerpt(word)) }
