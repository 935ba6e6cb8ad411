package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Key is one key of a workload. What a literal leaves out, number, size, span, words and onOff fill in for the kind of
// its value.
type Key struct {
	Name string
	// About describes it in the schema. {{...}} stands for what the tools declare, and {{WhoTakes}} for who takes the
	// key. It is empty for a key that the template of the schema describes.
	About string
	// Shape is the rest of its schema; Defined says that the schema has it as a definition.
	Shape   func(t Tools) string
	Defined bool
	// General says that the key is not one of a tool: every workload has it, or its reader says who takes it.
	General bool
	// fixed says why an arm cannot set it.
	fixed fixing
	// Beside says that a background takes it too.
	Beside bool
	// Column says that the table of tools has a column for it.
	Column bool
	// taken says whether it has a meaning in a capability; nil for always.
	taken func(c ToolCapability) bool
	// why says why a capability does not take it; nil, or an empty text, where that needs no words.
	why func(c ToolCapability) string
	// within are the limits of a number, or of a size in bytes.
	within func(c ToolCapability) Range
	// read reads the value from the file, or sets the default. It is nil for a key that the reader reads on its own.
	read func(w *Workload, in Values, can ToolCapability)
	// given says whether the workload has a value that only a tool can have which takes the key.
	given func(w Workload) bool
	// check says what a capability cannot do of the value; nil for a value that is checked on its own.
	check func(c *Checker, can ToolCapability, w Workload)
	// value writes the value in one line; nil for a key that an arm cannot set.
	value func(w Workload) string
	// parts are values in which workloads must agree to measure the same thing; nil for none. The value of a key with
	// apart is none of these, but a condition; see Conditions.
	parts func(w Workload) []Part
	apart condition
	// reset takes the value of a condition away.
	reset func(w *Workload)
	// Limits is what the table of tools says beside the key.
	Limits func(c ToolCapability) string
}

// fixing says why an arm cannot set a key.
type fixing int

const (
	settable    fixing = iota
	sameName           // the key names the workload
	sameMeasure        // it says what is measured
	sameEnd            // it says when a trial ends
	sameLength         // it makes a trial longer
	sameRun            // it says whether the workload is run
)

// because gives the reason why a capability does not take the key, as the end of a sentence; empty if there is none.
func (k Key) because(c ToolCapability) string {
	if k.why == nil || k.why(c) == "" {
		return ""
	}
	return ", because " + k.why(c)
}

// keyOf finds a key by its name. The zero value stands for an unknown one.
func keyOf(name string) Key {
	for _, k := range Keys() {
		if k.Name == name {
			return k
		}
	}
	return Key{}
}

// namesOf lists the names of the keys that are wanted.
func namesOf(wanted func(k Key) bool) []string {
	var names []string
	for _, k := range Keys() {
		if wanted(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// WorkloadKeys are the keys of a workload.
func WorkloadKeys() []string { return namesOf(func(Key) bool { return true }) }

// SettableKeys are the keys of a workload that an arm can set. The other keys are the same in all arms: tool and mode
// define what is measured, and times and steps define how long.
func SettableKeys() []string { return namesOf(Key.Settable) }

// FixedKeys are the keys of a workload that no arm can set.
func FixedKeys() (names []string) {
	for _, why := range []fixing{sameName, sameMeasure, sameEnd, sameLength, sameRun} {
		names = append(names, namesOf(func(k Key) bool { return k.fixed == why })...)
	}
	return names
}

// BackgroundKeys are the keys of a background. It has no times of its own, since it lasts as long as its workload.
func BackgroundKeys() []string { return namesOf(func(k Key) bool { return k.Beside }) }

// IsTaken says whether the key has a meaning in a capability.
func (k Key) IsTaken(c ToolCapability) bool { return k.taken == nil || k.taken(c) }

// Settable says that an arm can set the key.
func (k Key) Settable() bool { return k.fixed == settable }

// WhyFixed says why an arm cannot set a key; empty if it can.
func WhyFixed(name string) string {
	switch keyOf(name).fixed {
	case settable:
		return ""
	case sameMeasure:
		return "arms are compared within one workload, whose figures come from one tool in one mode; " +
			"write a second workload"
	case sameEnd, sameLength:
		return "the trials of all arms take the same time; write a second workload"
	}
	return "it is the same in all arms; leave it out of set"
}

// Ignores says that a key of a workload has no meaning in the capability.
func (c ToolCapability) Ignores(name string) bool {
	k := keyOf(name)
	return !k.General && !k.IsTaken(c)
}

// inKeys is for keys that a capability takes if it lists them in Keys.
func inKeys(name string) func(c ToolCapability) bool {
	return func(c ToolCapability) bool { return slices.Contains(c.Keys, name) }
}

// elsewhere is the read of a key that the reader reads on its own.
func elsewhere(*Workload, Values, ToolCapability) {}

// Values are what a mapping of the file has, by its keys. What cannot be read is reported. The result says that the
// mapping has the key, with a value.
type Values interface {
	Whole(key string, limits Range, into *int) (given bool)
	Truth(key string, into *bool) (given bool)
	// Word reads a single value as it is written, and Text one that must be text.
	Word(key, example string, into *string) (given bool)
	Text(key, example string, into *string) (given bool)
	// Texts reads a mapping of texts.
	Texts(key, example string, into *map[string]string) (given bool)
	// Parsed gives a single value to a function, whose error says what is wrong with it.
	Parsed(key, example string, parse func(text string) error) (given bool)
}

// Quantity reads a value with a unit, with one of the Parse functions.
func Quantity[T any](in Values, key, example string, parse func(string) (T, error), into *T) (given bool) {
	return in.Parsed(key, example, func(text string) (err error) {
		*into, err = parse(text)
		return err
	})
}

// Read reads the keys of a workload or of a background, and sets the defaults, except for keys that the reader reads on
// its own.
func (w *Workload) Read(in Values, can ToolCapability, background bool) {
	if can.Mode == Stream || can.Mode == Load {
		w.Connections = 1 // also for tools that take no other number
	}
	for _, k := range Keys() {
		if k.read != nil && (k.Beside || !background) {
			k.read(w, in, can)
		}
	}
	if background {
		w.Warmup = backgroundWarmup
	}
}

func shaped(schema string) func(Tools) string { return func(Tools) string { return schema } }

// Part is a value of a workload. Workloads with different values measure different things.
type Part struct {
	// Key is the key of the file, Name what messages call the value.
	Key, Name string
	Value     any
}

// Parts gives the values in which workloads must agree to measure the same thing, in the same order for all workloads.
func (w Workload) Parts() []Part {
	var parts []Part
	for _, k := range Keys() {
		if k.parts != nil {
			parts = append(parts, k.parts(w)...)
		}
	}
	return parts
}

// always is a usual value that does not depend on anything.
func always[T any](value T) func(Workload, ToolCapability) T {
	return func(Workload, ToolCapability) T { return value }
}

// valued is a key whose value is a field of the workload, which is empty if nothing is said. usual is the value where
// the file gives none, read reads one, and text writes it.
func valued[T comparable](
	at func(w *Workload) *T, usual func(w Workload, c ToolCapability) T,
	read func(in Values, c ToolCapability, into *T) (given bool), text func(T) string, k Key,
) Key {
	var empty T
	if k.taken == nil && !k.General {
		k.taken = inKeys(k.Name)
	}
	if k.read == nil {
		k.read = func(w *Workload, in Values, can ToolCapability) {
			if k.IsTaken(can) {
				*at(w) = usual(*w, can)
			}
			read(in, can, at(w))
		}
	}
	if k.given == nil {
		k.given = func(w Workload) bool { return *at(&w) != empty }
	}
	if k.value == nil && k.fixed == settable {
		k.value = func(w Workload) string { return text(*at(&w)) }
	}
	if k.apart != nil {
		k.reset = func(w *Workload) { *at(w) = empty }
	} else {
		k.parts = func(w Workload) []Part { return []Part{{k.Name, k.Name, *at(&w)}} }
	}
	return k
}

// number is a key whose value is a whole number. usual is the value where the file gives none; 0 is none.
func number(at func(w *Workload) *int, usual int, k Key) Key {
	if k.within == nil {
		k.within = func(c ToolCapability) Range { return c.Numbers[k.Name] }
		k.taken = func(c ToolCapability) bool { return k.within(c).Taken() }
		k.Limits = func(c ToolCapability) string { return fmt.Sprintf(" (%s)", k.within(c)) }
	}
	k.Shape = func(t Tools) string {
		limits := k.within(t.Widest())
		return fmt.Sprintf(`"type": "integer", "minimum": %d, "maximum": %d`, limits.Min, limits.Max)
	}
	k.check = func(c *Checker, can ToolCapability, w Workload) {
		is, limits := *at(&w), k.within(can)
		if limits.Taken() && (is != 0 || c.given(k.Name)) {
			c.whole(AtValue(k.Name), k.Name, is, limits)
		}
	}
	return valued(at, always(usual), func(in Values, can ToolCapability, into *int) bool {
		return in.Whole(k.Name, k.within(can), into)
	}, func(is int) string {
		if is == 0 {
			return notSet
		}
		return strconv.Itoa(is)
	}, k)
}

// size is a key whose value is a number of bytes. A usual value of 0 stands for what the tool or the kernel chooses.
func size(at func(w *Workload) *int, usual func(w Workload, c ToolCapability) int, k Key) Key {
	k.Shape = shaped(`"$ref": "#/$defs/size"`)
	k.taken = func(c ToolCapability) bool { return k.within(c).Taken() }
	k.check = func(c *Checker, can ToolCapability, w Workload) {
		bytes, limits := *at(&w), k.within(can)
		none := bytes == 0 && usual(w, can) == 0 && !c.given(k.Name)
		if limits.Taken() && !limits.Holds(bytes) && !none {
			c.wrong(AtValue(k.Name),
				fmt.Sprintf("%s takes %s to %s", can.sender(), FormatSize(limits.Min), FormatSize(limits.Max)),
				"%s cannot be %s", k.Name, FormatSize(bytes))
		}
	}
	return valued(at, usual, func(in Values, _ ToolCapability, into *int) bool {
		return Quantity(in, k.Name, "1024B", ParseSize, into)
	}, sizeText, k)
}

// span is a key whose value is a duration. Messages tell to write the example.
func span(
	at func(w *Workload) *time.Duration, limits func(c ToolCapability) Durations, example time.Duration, k Key,
) Key {
	k.Shape = shaped(`"$ref": "#/$defs/duration"`)
	if !k.General {
		k.taken = func(c ToolCapability) bool { return limits(c).Taken() }
	}
	k.check = func(c *Checker, can ToolCapability, w Workload) {
		if l := limits(can); l.Taken() {
			l.check(c, AtValue(k.Name), k.Name, *at(&w), example, can.Tool)
		}
	}
	usual := func(_ Workload, c ToolCapability) time.Duration { return limits(c).Default }
	return valued(at, usual, func(in Values, _ ToolCapability, into *time.Duration) bool {
		return Quantity(in, k.Name, FormatDuration(example), ParseDuration, into)
	}, FormatDuration, k)
}

// words is a key whose value is one of some words, the first of which is the usual one.
func words(at func(w *Workload) *string, known []string, k Key) Key {
	k.Shape = shaped(`"enum": ` + written(known))
	k.check = func(c *Checker, _ ToolCapability, w Workload) {
		if is := *at(&w); is != "" || c.given(k.Name) {
			c.word(AtValue(k.Name), k.Name, is, known)
		}
	}
	return valued(at, always(known[0]), func(in Values, _ ToolCapability, into *string) bool {
		return in.Word(k.Name, known[0], into)
	}, func(word string) string { return word }, k)
}

// onOff is a key that is true or false, which is the usual value.
func onOff(at func(w *Workload) *bool, k Key) Key {
	k.Shape = shaped(`"type": "boolean", "default": false`)
	return valued(at, always(false), func(in Values, _ ToolCapability, into *bool) bool { return in.Truth(k.Name, into) },
		strconv.FormatBool, k)
}
