package experiment

// Keys whose values have the same form are lists, which the reader and the rules go through.

// A textKey is a key whose value is a text with a rule of its own.
type textKey struct {
	name, example string
	into          *string
	check         func(string) error
	// plain says that a text without quotes which YAML reads as a number is the text.
	plain bool
}

// texts checks texts.
func (c *checker) texts(keys []textKey) {
	for _, k := range keys {
		if *k.into != "" || c.given(k.name) {
			c.refuse(value(k.name), k.check(*k.into))
		}
	}
}

// A numberKey is a key whose value is a whole number.
type numberKey struct {
	name   string
	into   *int
	limits Range
}

// numbers checks whole numbers. 0 can stand for none where the file does not give it.
func (c *checker) numbers(keys []numberKey) {
	for _, k := range keys {
		if *k.into != 0 || c.given(k.name) {
			c.whole(value(k.name), k.name, *k.into, k.limits)
		}
	}
}

// A wordKey is a key whose value is one of some words.
type wordKey struct {
	name  string
	into  *string
	known []string
	// always says that a value is there, too, if the file gives none.
	always bool
}

// words checks words.
func (c *checker) words(keys []wordKey) {
	for _, k := range keys {
		if *k.into != "" || k.always || c.given(k.name) {
			c.word(value(k.name), k.name, *k.into, k.known)
		}
	}
}
