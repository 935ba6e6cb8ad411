package experiment

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"nearfar/internal/base/clean"
)

// MaxName is the greatest length of a name, in bytes.
const MaxName = 64

// IsName reports whether a text can be the name of an arm, a workload, a layer or an experiment. Names become parts of
// file names and reports.
func IsName(s string) bool {
	good := s != "" && len(s) <= MaxName
	for i, c := range s {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		good = good && (letter || i > 0 && strings.ContainsRune("._-", c))
	}
	return good
}

// nameRule says in a message which names are allowed.
func nameRule() string {
	return fmt.Sprintf("letters, digits, and after the first also . _ -; at most %d", MaxName)
}

// ToName makes a name of any text. It replaces characters that names cannot have by "_", and cuts long texts. Different
// texts can get the same name. An empty text gives an empty text, which is no name.
func ToName(s string) string {
	var b strings.Builder
	for _, c := range s {
		if b.Len() == MaxName {
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

// Nearest gives the known word with the most similar spelling, or "" if none is similar.
func Nearest(word string, known []string) string {
	const longest = 64 // a longer word is no misspelling
	if len(word) > longest {
		return ""
	}
	// Up to half of the letters may be wrong, and at least one. A wrong letter costs 2.
	limit := max(2, len([]rune(word)))
	if k := meant(strings.ToLower(word), known); k != "" {
		return k
	}
	best := ""
	for _, k := range known {
		if d := editDistance(word, k); d <= limit {
			best, limit = k, d-1
		}
	}
	return best
}

// meant gives the known word for a word of the field that means the same and is spelt otherwise.
func meant(word string, known []string) string {
	var words []string
	switch word {
	case "latency", "delay", "ping_pong", "round_trip", "round-trip":
		words = []string{"rtt", "response_time", "rr"}
	case "throughput", "bandwidth":
		words = []string{"goodput", "stream"}
	case "jitter":
		words = []string{"ipdv"}
	case "tcp_rr", "udp_rr", "ping-pong", "pingpong":
		words = []string{"rr"}
	case "tcp_crr", "tcp_cc":
		words = []string{"crr"}
	case "tcp_stream", "tcp_maerts", "udp_stream":
		words = []string{"stream"}
	}
	for _, w := range words {
		if slices.Contains(known, w) {
			return w
		}
	}
	return ""
}

// editDistance is the optimal string alignment distance (Damerau-Levenshtein without a letter edited twice), where an
// edit costs 2 and a change of case alone costs 1.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	const edit = 2
	// Three rows of the table are enough: the current one and the two before it.
	before, last, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range last {
		last[j] = j * edit
	}
	for i := 1; i <= len(from); i++ {
		row[0] = i * edit
		for j := 1; j <= len(to); j++ {
			row[j] = min(last[j]+edit, row[j-1]+edit, last[j-1]+substitution(from[i-1], to[j-1]))
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				row[j] = min(row[j], before[j-2]+edit)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(to)]
}

// substitution is the cost of replacing one letter by another.
func substitution(a, b rune) int {
	switch {
	case a == b:
		return 0
	case unicode.ToLower(a) == unicode.ToLower(b):
		return 1
	}
	return 2
}

// Suggest gives the hint for an unknown word: the most similar known word, or all known words.
func Suggest(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	return "known: " + strings.Join(known, ", ")
}
