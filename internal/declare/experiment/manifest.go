package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
)

// manifest checks a recorded part of a manifest. A part of a file is the reader's to check: only the text shows what is
// wrong with it.
func (c *Checker) manifest(part string, is json.RawMessage) {
	if c.text != nil || len(is) == 0 {
		return
	}
	var all any
	decoder := json.NewDecoder(bytes.NewReader(is))
	decoder.UseNumber()
	err := decoder.Decode(&all)
	all = asInFiles(all)
	empty := part != "resources" && (string(is) == "{}" || string(is) == "[]")
	if err != nil || empty || len(is) > MaxManifest || written(all) != written(is) {
		c.wrong(AtValue(part), "", "it is not as a file makes it")
		return
	}
	if part == "tolerations" {
		list, ok := all.([]any)
		if !ok {
			c.wrong(AtValue(part), "", "it must be a list")
		}
		for _, one := range list {
			c.object(part, "a toleration", one, KeysOf(part))
		}
		return
	}
	for key, inner := range c.object(part, part, all, KeysOf(part)) {
		switch part {
		case "affinity":
			c.object(part, key, inner, KeysOf(key))
		case "resources":
			c.amounts(part, inner)
		}
	}
}

// object checks that a value of a part is a mapping with known keys.
func (c *Checker) object(part, what string, is any, known []string) map[string]any {
	object, ok := is.(map[string]any)
	if !ok {
		c.wrong(AtValue(part), "", "%s must be a mapping", what)
	}
	for key := range object {
		c.word(AtValue(part), "key of "+what, key, known)
	}
	return object
}

// amounts checks the quantities of requests or limits.
func (c *Checker) amounts(part string, are any) {
	all, ok := are.(map[string]any)
	if !ok {
		c.wrong(AtValue(part), "", "its quantities must be a mapping")
	}
	for name, is := range all {
		text, ok := is.(string)
		if !ok {
			text = written(is)
		}
		c.refuse(AtValue(part), errors.Join(CheckQualified(name), CheckAmount(text)))
	}
}

// asInFiles gives a value with its numbers as the reader has them, and with an empty text in place of what a file
// cannot have.
func asInFiles(is any) any {
	switch is := is.(type) {
	case nil:
		return ""
	case json.Number:
		if whole, err := is.Int64(); err == nil {
			return whole
		}
		if number, err := is.Float64(); err == nil {
			return number
		}
		return ""
	case []any:
		for i := range is {
			is[i] = asInFiles(is[i])
		}
	case map[string]any:
		for key := range is {
			is[key] = asInFiles(is[key])
		}
	}
	return is
}
