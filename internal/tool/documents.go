package tool

import (
	"encoding/json"
	"errors"
	"strings"

	"nearfar/internal/lazyregexp"
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
)

// jsonDocuments finds the JSON objects in a text, and gives the text without them. It takes linear time, since it never
// reads a part of a document again.
func jsonDocuments(text string) (docs []document, rest string) {
	var left strings.Builder
	broken := 0
	for broken < maxBroken {
		at := jsonStart.FindStringIndex(text)
		if at == nil {
			break
		}
		left.WriteString(text[:at[0]])
		text = text[at[0]:]
		var raw json.RawMessage
		decoder := json.NewDecoder(strings.NewReader(text))
		err := decoder.Decode(&raw)
		if err == nil {
			docs = append(docs, document{body: string(raw)})
			text = text[decoder.InputOffset():]
			continue
		}
		broken++
		used := len(text)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) && syntax.Offset > 0 && int(syntax.Offset) < len(text) {
			used = max(1, int(syntax.Offset)-1)
		}
		if jsonIperf.MatchString(text[:used]) {
			docs = append(docs, document{body: text[:used], truncated: true})
		} else {
			left.WriteString(text[:used])
		}
		text = text[used:]
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
	left.WriteString(text)
	return docs, left.String()
}
