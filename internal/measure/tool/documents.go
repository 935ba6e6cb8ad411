package tool

import (
	"encoding/json"
	"errors"
	"strings"

	"nearfar/internal/base/lazyregexp"
)

// document is a JSON or XML document in a recording, without the text around it.
type document struct {
	// body is the document. truncated says that it breaks off.
	body      string
	truncated bool
}

// maxBroken is how many broken documents are read. A recording has a few; a hostile file can have millions.
const maxBroken = 1000

var (
	jsonStart = lazyregexp.New(`\{\s*"`)
	jsonIperf = lazyregexp.New(`^\{\s*"(?:start|intervals|end|error|event|title|extra_data)"`)
	// jsonImported are the first keys of documents of tools that are only imported.
	jsonImported = lazyregexp.New(`^\{\s*"RunType"`)
)

// maxDocuments is how many JSON documents a recording can have. iperf3 and the native engine print one for each
// interval.
const maxDocuments = 250_000

// anyJSON takes a JSON value without a copy of it.
type anyJSON struct{}

func (*anyJSON) UnmarshalJSON([]byte) error { return nil }

// jsonDocuments finds the JSON objects in a text, at most one more than maxDocuments, and gives the text without them. It takes linear
// time, since it never reads a part of a document again.
func jsonDocuments(text string) (docs []document, rest string) {
	var left strings.Builder
	broken := 0
	for broken < maxBroken && len(docs) <= maxDocuments {
		at := jsonStart.FindStringIndex(text)
		if at == nil {
			break
		}
		left.WriteString(text[:at[0]])
		text = text[at[0]:]
		decoder := json.NewDecoder(strings.NewReader(text))
		err := decoder.Decode(&anyJSON{})
		if err == nil {
			end := decoder.InputOffset()
			docs = append(docs, document{body: text[:end]})
			text = text[end:]
			continue
		}
		broken++
		used := len(text)
		syntax, ok := errors.AsType[*json.SyntaxError](err)
		if ok && syntax.Offset > 0 && int(syntax.Offset) < len(text) {
			used = max(1, int(syntax.Offset)-1)
		}
		if jsonIperf.MatchString(text[:used]) || jsonImported.MatchString(text[:used]) {
			docs = append(docs, document{body: text[:used], truncated: true})
		} else {
			left.WriteString(text[:used])
		}
		text = text[used:]
	}
	if left.Len() == 0 {
		return docs, text // not copied
	}
	left.WriteString(text)
	return docs, left.String()
}

// xmlDocuments finds the documents of ntttcp, and gives the text without them.
func xmlDocuments(text string) (docs []document, rest string) {
	var left strings.Builder
	for {
		at := strings.Index(text, "<ntttcp")
		if at < 0 || at+len("<ntttcp") >= len(text) || !strings.ContainsRune("sr", rune(text[at+len("<ntttcp")])) {
			break
		}
		left.WriteString(text[:at])
		text = text[at:]
		closing := "</" + text[1:len("<ntttcps")] + ">"
		end := strings.Index(text, closing)
		if end < 0 {
			return append(docs, document{body: text, truncated: true}), left.String()
		}
		end += len(closing)
		docs = append(docs, document{body: text[:end]})
		text = text[end:]
	}
	if left.Len() == 0 {
		return docs, text // not copied
	}
	left.WriteString(text)
	return docs, left.String()
}
