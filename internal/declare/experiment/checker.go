package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/clean"
)

// A checker applies the rules to an experiment, or to a part of it, and collects what breaks them. Every rule about
// values stands once, in a method that takes a checker. The reader calls it with what it has read, and gives each
// finding its place in the file; Check and CheckRunnable call it with what stands in a run directory.
type checker struct {
	// part leads to the part that is checked: hosts, vm-a.
	part  []string
	found *[]finding
	// strict says that the experiment is to be run: values become command lines, file names and network devices. Else
	// only what all who read runs rely on is checked.
	strict bool
	// text is the part of the file that is checked; nil for an experiment that comes from elsewhere.
	text Text
}

// A Text is the part of a file that a checker checks. Paths begin at the part.
type Text interface {
	// Given says that the file has something at a path.
	Given(path []string) bool
	// Sound says that nothing on the way to a spot is wrong, as far as the text has been read and checked.
	Sound(at spot) bool
	// Misspelt says that the file has an unknown key that probably stands for this one.
	Misspelt(key string) bool
}

// A finding is what breaks a rule, and what would be right.
type finding struct {
	spot
	message, hint string
}

// A spot is a value of an experiment, by the keys and the places in lists that lead to it in a file: workloads, [0],
// request. The empty path is the part itself.
type spot struct {
	path []string
	// atKey says that a mistake is about the key, and not about its value.
	atKey bool
}

func value(path ...string) spot { return spot{path: path} }

func atKey(path ...string) spot { return spot{path: path, atKey: true} }

// item is the step to an item of a list.
func item(i int) string { return "[" + strconv.Itoa(i) + "]" }

// newChecker makes a strict checker for an experiment that is not read from a file.
func newChecker() *checker { return &checker{found: &[]finding{}, strict: true} }

// findings applies rules to a part of a file.
func findings(in Text, rules func(c *checker)) []finding {
	c := newChecker()
	c.text = in
	rules(c)
	return *c.found
}

// in gives a checker for a part of the part.
func (c *checker) in(path ...string) *checker {
	inner := *c
	inner.part = slices.Concat(c.part, path)
	return &inner
}

// wrong reports what is wrong at a spot of the part.
func (c *checker) wrong(at spot, hint, format string, args ...any) {
	at.path = slices.Concat(c.part, at.path)
	*c.found = append(*c.found, finding{at, fmt.Sprintf(format, args...), hint})
}

// refuse reports the error of a check of a single value, if there is one.
func (c *checker) refuse(at spot, err error) {
	if err == nil {
		return
	}
	message, hint := err.Error(), ""
	if q := (*QuantityError)(nil); errors.As(err, &q) {
		message, hint = q.Message, q.Hint
	}
	what := ""
	if len(at.path) > 0 {
		what = at.path[0] + ": "
	}
	c.wrong(at, hint, "%s%s", what, message)
}

// count is how much was found so far.
func (c *checker) count() int { return len(*c.found) }

// given says that the file has this key of the part. Rules about values that stand for "none" ask it: such a value
// can stand in a record, and not in a file.
func (c *checker) given(key string) bool {
	return c.text != nil && c.text.Given(slices.Concat(c.part, []string{key}))
}

// sound says that nothing was found at these keys of the part, and that a file has values there that could be read.
// Rules about several values ask it, so that one mistake is reported once.
func (c *checker) sound(keys ...string) bool {
	for _, key := range keys {
		path := slices.Concat(c.part, []string{key})
		if slices.ContainsFunc(*c.found, func(f finding) bool { return slices.Equal(f.path, path) }) {
			return false
		}
		if c.text != nil && !c.text.Sound(value(path...)) {
			return false
		}
	}
	return true
}

// misspelt says that the file has an unknown key that probably stands for one of these.
func (c *checker) misspelt(keys ...string) bool {
	return c.text != nil && len(c.part) == 0 && slices.ContainsFunc(keys, c.text.Misspelt)
}

// firstGiven is the first of these keys that the file gives, and the part itself if it gives none.
func (c *checker) firstGiven(keys ...string) spot {
	for _, key := range keys {
		if c.text == nil || c.given(key) {
			return value(key)
		}
	}
	return value()
}

// whole checks a whole number.
func (c *checker) whole(at spot, what string, is int, limits Range) {
	if !limits.holds(is) {
		c.wrong(at, limits.hint(), "%s cannot be %d", what, is)
	}
}

// most checks how many of something there are.
func (c *checker) most(at spot, what string, are, most int) bool {
	if are > most {
		c.wrong(at, "at most "+strconv.Itoa(most), "there are %d %s", are, what)
	}
	return are <= most
}

// spans checks a duration.
func (c *checker) spans(at spot, what string, is, least, most time.Duration) {
	if is < least || is > most {
		c.wrong(at, "write "+FormatDuration(least)+" to "+FormatDuration(most), "%s cannot be %s", what,
			FormatDuration(is))
	}
}

// word checks that a text is one of the known words.
func (c *checker) word(at spot, what, is string, known []string) bool {
	if slices.Contains(known, is) {
		return true
	}
	c.wrong(at, Suggest(is, known), "unknown %s %s", what, quote(is))
	return false
}

// name checks the name of something.
func (c *checker) name(at spot, what, name string) {
	if !IsName(name) {
		c.wrong(at, nameRule(), "%s is no name of %s", quote(name), what)
	}
}

// maxJoined is how many findings an error lists.
const maxJoined = 10

// err joins what was found; nil for nothing.
func (c *checker) err() error {
	var all []error
	for i, f := range *c.found {
		if i == maxJoined {
			all = append(all, fmt.Errorf("and %d more", len(*c.found)-maxJoined))
			break
		}
		all = append(all, f)
	}
	return errors.Join(all...)
}

// Error writes the finding as arms.far.lab.path[1]: message: hint. What stands in a run directory can be of any length
// and have any characters.
func (f finding) Error() string {
	text := f.message
	if f.hint != "" {
		text += ": " + f.hint
	}
	if len(f.path) > 0 {
		text = f.where() + ": " + text
	}
	return clean.Line(fmt.Sprintf("%.1000s", text))
}

// where writes the path. A name can be any text in an experiment that was not read from a file.
func (s spot) where() string {
	var b strings.Builder
	for i, step := range s.path {
		switch {
		case strings.HasPrefix(step, "["):
		case !IsName(step):
			step = "[" + quote(step) + "]"
		case i > 0:
			step = "." + step
		}
		b.WriteString(step)
	}
	return b.String()
}
