package main

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// A price that is not known, or not read, is refused unless the user gives one. A known price always counts.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		printed      string
		given, limit float64
		time         time.Duration
		most         float64
		refuses      string
	}{
		{"  vm: $1 an hour (x)\nIn all $1 an hour, $2 for 2h.\n", 0, 2.2, 2 * time.Hour, 2.2, ""},
		{"In all $1 an hour, $2 for 2h.\n", 0, 2.19, 2 * time.Hour, 2.2, "more than the limit of $2.19"},
		{"In all $1 an hour, $2 for 2h.\n", 0.1, 2.19, 2 * time.Hour, 2.2, "more than the limit"},
		{"In all at least $0.108 an hour, at least $0.432 for 4h.\n", 0, 5, time.Hour, 0.1188, "give it as PRICE"},
		{"In all at least $0.108 an hour, at least $0.432 for 4h.\n", 4, 5, time.Hour, 4.4, ""},
		{"In all at least $6 an hour, at least $24 for 4h.\n", 4, 5, time.Hour, 6.6, "more than the limit"},
		{"In all at least $6 an hour, at least $24 for 4h.\n", 0, 5, time.Hour, 6.6, "more than the limit"},
		{"No price is known here: ask the provider.\n", 0, 5, time.Hour, 0, "cannot be checked"},
		{"No price is known here: ask the provider.\n", 1, 5, time.Hour, 1.1, ""},
		{"", 0, 5, time.Hour, 0, "cannot be checked"},
		{"In all $1 an hour, x\nIn all $1 an hour, x\n", 0, 5, time.Hour, 0, "cannot be checked"},
		{"In all $1.2.3 an hour\n", 0, 5, time.Hour, 0, "cannot be checked"},
		{"the resource In all $0 an hour\n", 0, 5, time.Hour, 0, "cannot be checked"},
	} {
		most, err := readBill(c.printed).most(c.given, c.limit, c.time)
		if math.Abs(most-c.most) > 1e-9 {
			t.Errorf("%q, given %v: at most %v, want %v", c.printed, c.given, most, c.most)
		}
		var refused *refusedError
		switch {
		case c.refuses == "" && err != nil:
			t.Errorf("%q, given %v, limit %v: %v", c.printed, c.given, c.limit, err)
		case c.refuses != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.refuses)):
			t.Errorf("%q, given %v, limit %v: %v, want %q", c.printed, c.given, c.limit, err, c.refuses)
		}
	}
}
