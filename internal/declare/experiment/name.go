package experiment

import (
	"fmt"
	"strings"

	"nearfar/internal/base/clean"
)

// maxName is the greatest length of a name, in bytes.
const maxName = 64

// IsName reports whether a text can be the name of an arm, a workload, a layer or an experiment. Names become parts of
// file names and reports.
func IsName(s string) bool {
	good := s != "" && len(s) <= maxName
	for i, c := range s {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		good = good && (letter || i > 0 && strings.ContainsRune("._-", c))
	}
	return good
}

// nameRule says in a message which names are allowed.
func nameRule() string {
	return fmt.Sprintf("letters, digits, and after the first also . _ -; at most %d", maxName)
}

// ToName makes a name of any text. It replaces characters that names cannot have by "_", and cuts long texts. Different
// texts can get the same name. An empty text gives an empty text, which is no name.
func ToName(s string) string {
	var b strings.Builder
	for _, c := range s {
		if b.Len() == maxName {
			break
		}
		switch {
		case IsName(string(c)):
			b.WriteRune(c)
		case b.Len() == 0:
			b.WriteByte('x')
		case strings.ContainsRune("._-", c):
			b.WriteRune(c)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}

// quote quotes a text from the file for a message.
func quote(s string) string { return clean.Quote(s) }
