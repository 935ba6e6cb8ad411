package bisection

import (
	"errors"
	"strings"
)

// StepPlace stands for the step in the words of the command that puts it in place.
const StepPlace = "{step}"

// Words breaks a command line into words, as a shell does with quotes and backslashes and without anything else: no
// variables, no patterns, no operators. The command is run without a shell.
func Words(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case '\'', '"':
			end := closing(line, i)
			if end < 0 {
				return nil, errors.New("a quote is not closed")
			}
			word.WriteString(quoted(line[i+1:end], c == '"'))
			inWord, i = true, end
		case '\\':
			if i++; i == len(line) {
				return nil, errors.New("a backslash stands at the end")
			}
			word.WriteByte(line[i])
			inWord = true
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("it is empty")
	}
	return words, nil
}

// closing is where the quote that opens at a byte ends; -1 if it does not.
func closing(line string, from int) int {
	for i := from + 1; i < len(line); i++ {
		if line[i] == line[from] {
			return i
		}
		if line[i] == '\\' && line[from] == '"' {
			i++
		}
	}
	return -1
}

// quoted is what stands between quotes. Between double ones, a backslash before a double quote or a backslash is left
// out.
func quoted(text string, double bool) string {
	if !double {
		return text
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text)
}

// PlaceWords are the words of the command for one step: the step stands where they say, or behind the last one.
func PlaceWords(words []string, step string) []string {
	var out []string
	named := false
	for _, w := range words {
		named = named || strings.Contains(w, StepPlace)
		out = append(out, strings.ReplaceAll(w, StepPlace, step))
	}
	if !named {
		out = append(out, step)
	}
	return out
}
