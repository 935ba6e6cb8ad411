package tool

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"nearfar/internal/base/lazyregexp"
)

var (
	// escapes are ANSI control sequences: colours, cursor movements, window titles.
	escapes = lazyregexp.New(`\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[@-Z\\^_]?`)
	// echoes are keys that a terminal echoed into the output as visible characters: ^C, and ^[[F for the End key.
	echoes = lazyregexp.New(`\^\[\[[0-9;]*[A-Za-z~]|\^[CDZ\\]`)
)

// maxUnpacked bounds what a compressed recording unpacks to, in bytes: as much as one that is not compressed can have.
const maxUnpacked = 64 << 20

// gunzip unpacks a recording that gzip has compressed, and gives any other one as it is.
func gunzip(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b, 8}) {
		return data, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is compressed, and cannot be unpacked: %w", err)
	}
	unpacked, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it is compressed, and cut off")
	case err != nil:
		return nil, fmt.Errorf("it is compressed, and cannot be unpacked: %w", err)
	case len(unpacked) > maxUnpacked:
		return nil, fmt.Errorf("it unpacks to more than %d MiB, the most that is read", maxUnpacked>>20)
	}
	return unpacked, nil
}

// plain gives a recording as lines of text that end in \n. It decodes UTF-16, and removes what terminals and
// redirections add: byte order marks, colours, echoed keys and control characters.
func plain(data []byte) string {
	s := decode(data)
	// The regular expressions copy the text twice, also if nothing is found.
	if strings.Contains(s, "\x1b") {
		s = escapes.ReplaceAllString(s, "")
	}
	if strings.Contains(s, "^") {
		s = echoes.ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\n', r == '\t':
			return r
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r == 0xfeff:
			return -1
		case r == 0xa0, r == 0x202f:
			return ' '
		}
		return r
	}, s)
}

func decode(data []byte) string {
	order, utf16le := binary.ByteOrder(binary.LittleEndian), false
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		data, utf16le = data[2:], true
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		data, order, utf16le = data[2:], binary.BigEndian, true
	case len(data) >= 4 && data[0] != 0 && data[1] == 0 && data[2] != 0 && data[3] == 0:
		utf16le = true
	}
	if !utf16le {
		return strings.ToValidUTF8(string(data), "?")
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return string(utf16.Decode(units))
}

// number reads a decimal number, with a point or (as some locales print) a comma. It accepts
// the forms that the tools print, which are not NaN, infinite or hexadecimal.
func number(s string) (float64, bool) {
	s = strings.Replace(strings.TrimSpace(s), ",", ".", 1)
	if s == "" || strings.Trim(s, "0123456789.+-eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// integer reads a count. It gives 0 for a text that is none, or too large to be one.
func integer(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// find gives the first group of the first match, or "".
func find(re *lazyregexp.Regexp, s string) string {
	if m := re.FindStringSubmatch(s); len(m) > 1 {
		return m[1]
	}
	return ""
}

// containsAny reports whether any of the words is in the line. It is faster than the regular expressions that follow
// it.
func containsAny(line string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) })
}

// excerpt is the part of a line that fits into a message.
func excerpt(line string) string {
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > 200 {
		return string(r[:200]) + "..."
	}
	return line
}

// lastLine is the last line that is not empty, for messages.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return excerpt(text[strings.LastIndexByte(text, '\n')+1:])
}

// probe makes a Probe. The version is the first group of the pattern in the output of the command.
func probe(version *lazyregexp.Regexp, programs []string, argv ...string) Probe {
	return Probe{Programs: programs, Argv: argv, Version: func(printed []byte) string {
		return find(version, plain(printed))
	}}
}
