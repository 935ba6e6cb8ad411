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

// A Checker applies the rules to an experiment, or to a part of it, and collects what breaks them. Every rule about
// values stands once, in a method that takes a checker. The reader calls it with what it has read, and gives each
// finding its place in the file; Check and CheckRunnable call it with what stands in a run directory.
type Checker struct {
	// part leads to the part that is checked: hosts, vm-a.
	part  []string
	found *[]Finding
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
	Sound(at Spot) bool
	// Misspelt says that the file has an unknown key that probably stands for this one.
	Misspelt(key string) bool
}

// A Finding is what breaks a rule, and what would be right.
type Finding struct {
	Spot
	Message, Hint string
}

// A Spot is a value of an experiment, by the keys and the places in lists that lead to it in a file: workloads, [0],
// request. The empty path is the part itself.
type Spot struct {
	Path []string
	// AtKey says that a mistake is about the key, and not about its value.
	AtKey bool
}

// AtValue is the spot of a value.
func AtValue(path ...string) Spot { return Spot{Path: path} }

// AtKey is the spot of a key.
func AtKey(path ...string) Spot { return Spot{Path: path, AtKey: true} }

// Item is the step to an item of a list.
func Item(i int) string { return "[" + strconv.Itoa(i) + "]" }

// newChecker makes a strict checker for an experiment that is not read from a file.
func newChecker() *Checker { return &Checker{found: &[]Finding{}, strict: true} }

// Findings applies rules to a part of a file.
func Findings(in Text, rules func(c *Checker)) []Finding {
	c := newChecker()
	c.text = in
	rules(c)
	return *c.found
}

// In gives a checker for a part of the part.
func (c *Checker) In(path ...string) *Checker {
	inner := *c
	inner.part = slices.Concat(c.part, path)
	return &inner
}

// wrong reports what is wrong at a spot of the part.
func (c *Checker) wrong(at Spot, hint, format string, args ...any) {
	at.Path = slices.Concat(c.part, at.Path)
	*c.found = append(*c.found, Finding{at, fmt.Sprintf(format, args...), hint})
}

// refuse reports the error of a check of a single value, if there is one.
func (c *Checker) refuse(at Spot, err error) {
	if err == nil {
		return
	}
	message, hint := err.Error(), ""
	if q := (*QuantityError)(nil); errors.As(err, &q) {
		message, hint = q.Message, q.Hint
	}
	what := ""
	if len(at.Path) > 0 {
		what = at.Path[0] + ": "
	}
	c.wrong(at, hint, "%s%s", what, message)
}

// count is how much was found so far.
func (c *Checker) count() int { return len(*c.found) }

// given says that the file has this key of the part. Rules about values that stand for "none" ask it: such a value
// can stand in a record, and not in a file.
func (c *Checker) given(key string) bool {
	return c.text != nil && c.text.Given(slices.Concat(c.part, []string{key}))
}

// sound says that nothing was found at these keys of the part, and that a file has values there that could be read.
// Rules about several values ask it, so that one mistake is reported once.
func (c *Checker) sound(keys ...string) bool {
	for _, key := range keys {
		path := slices.Concat(c.part, []string{key})
		if slices.ContainsFunc(*c.found, func(f Finding) bool { return slices.Equal(f.Path, path) }) {
			return false
		}
		if c.text != nil && !c.text.Sound(AtValue(path...)) {
			return false
		}
	}
	return true
}

// misspelt says that the file has an unknown key that probably stands for one of these.
func (c *Checker) misspelt(keys ...string) bool {
	return c.text != nil && len(c.part) == 0 && slices.ContainsFunc(keys, c.text.Misspelt)
}

// firstGiven is the first of these keys that the file gives, and the part itself if it gives none.
func (c *Checker) firstGiven(keys ...string) Spot {
	for _, key := range keys {
		if c.text == nil || c.given(key) {
			return AtValue(key)
		}
	}
	return AtValue()
}

// whole checks a whole number.
func (c *Checker) whole(at Spot, what string, is int, limits Range) {
	if !limits.Holds(is) {
		c.wrong(at, limits.Hint(), "%s cannot be %d", what, is)
	}
}

// Most checks how many of something there are.
func (c *Checker) Most(at Spot, what string, are, most int) bool {
	if are > most {
		c.wrong(at, "at most "+strconv.Itoa(most), "there are %d %s", are, what)
	}
	return are <= most
}

// spans checks a duration.
func (c *Checker) spans(at Spot, what string, is, least, most time.Duration) {
	if is < least || is > most {
		c.wrong(at, "write "+FormatDuration(least)+" to "+FormatDuration(most), "%s cannot be %s", what,
			FormatDuration(is))
	}
}

// word checks that a text is one of the known words.
func (c *Checker) word(at Spot, what, is string, known []string) bool {
	if slices.Contains(known, is) {
		return true
	}
	c.wrong(at, Suggest(is, known), "unknown %s %s", what, quote(is))
	return false
}

// Name checks the name of something.
func (c *Checker) Name(at Spot, what, name string) {
	if !IsName(name) {
		c.wrong(at, nameRule(), "%s is no name of %s", quote(name), what)
	}
}

// maxJoined is how many findings an error lists.
const maxJoined = 10

// err joins what was found; nil for nothing.
func (c *Checker) err() error {
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
func (f Finding) Error() string {
	text := f.Message
	if f.Hint != "" {
		text += ": " + f.Hint
	}
	if len(f.Path) > 0 {
		text = f.where() + ": " + text
	}
	return clean.Line(fmt.Sprintf("%.1000s", text))
}

// where writes the path. A name can be any text in an experiment that was not read from a file.
func (s Spot) where() string {
	var b strings.Builder
	for i, step := range s.Path {
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
