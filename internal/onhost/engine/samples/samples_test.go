package samples

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func written(t interface{ Fatal(...any) }, all []Sample, dropped int64) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Version: "1", Mode: "load", Schedule: "constant 1/s:1s", Started: 42})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(dropped); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (all []Sample, h Header, dropped int64, err error) {
	h, dropped, err = Read(bytes.NewReader(b), func(s Sample) error { all = append(all, s); return nil })
	return all, h, dropped, err
}

// some draws observations as a run has them.
func some(t *rapid.T, count int) (all []Sample) {
	const long = int64(1) << 47 // more than a day
	for range count {
		s := Sample{Intended: rapid.Int64Range(-long, long).Draw(t, "intended"), Sent: rapid.Bool().Draw(t, "sent")}
		if s.Sent {
			s.Actual = s.Intended + rapid.Int64Range(-5, long).Draw(t, "delay")
			if s.Answered = rapid.Bool().Draw(t, "answered"); s.Answered {
				s.Reply = s.Actual + rapid.Int64Range(-5, long).Draw(t, "wait")
			}
		}
		all = append(all, s)
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := some(t, rapid.IntRange(0, 50).Draw(t, "count"))
		got, h, dropped, err := read(written(t, all, 3))
		if err != nil || !slices.Equal(got, all) || dropped != 3 || h.Started != 42 {
			t.Fatalf("%v, %+v, %d, %v", got, h, dropped, err)
		}
	})
}

// TestBlocks: several blocks, and every place to cut the file.
func TestBlocks(t *testing.T) {
	var all []Sample
	for i := range int64(2*BlockSize + 10) {
		all = append(all, Sample{Intended: i * 100_000, Actual: i*100_000 + 3000, Reply: i*100_000 + 20_000, Sent: true,
			Answered: true})
	}
	b := written(t, all, 0)
	got, _, _, err := read(b)
	if err != nil || !slices.Equal(got, all) {
		t.Fatalf("%d of %d, %v", len(got), len(all), err)
	}
	if per := len(b) / len(all); per > 10 {
		t.Errorf("%d bytes for each observation", per)
	}
	for _, at := range []int{len(b) - 1, len(b) - 12, len(b) / 2} {
		got, _, _, err := read(b[:at])
		if !errors.Is(err, ErrCut) || !slices.Equal(got, all[:len(got)]) {
			t.Errorf("cut at %d of %d: %d observations, %v", at, len(b), len(got), err)
		}
	}
	for _, at := range []int{0, 7, len(b) / 2} {
		changed := bytes.Clone(b)
		changed[at] ^= 1
		if _, _, _, err := read(changed); err == nil {
			t.Errorf("a change at %d is not seen", at)
		}
	}
	if _, _, _, err := read(append(bytes.Clone(b), 0)); err == nil {
		t.Error("something after the end is taken")
	}
}

func TestCSV(t *testing.T) {
	b := written(t, []Sample{{Intended: 5, Actual: 7, Reply: 11, Sent: true, Answered: true}, {Intended: 100,
		Actual: 101, Sent: true}, {Intended: -3}}, 9)
	var out strings.Builder
	dropped, err := WriteCSV(&out, bytes.NewReader(b))
	if want := "intended_ns,actual_ns,reply_ns\n5,7,11\n100,101,\n-3,,\n"; err != nil || dropped != 9 ||
		out.String() != want {
		t.Errorf("%q, %d, %v", out.String(), dropped, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, nil, 0))
	f.Add(written(f, []Sample{{Intended: 5, Actual: 7, Reply: 11, Sent: true, Answered: true}, {Intended: 100,
		Actual: 101, Sent: true}, {Intended: -3}}, 9))
	f.Add([]byte(magic + "\x00\x00\x00\x02{}\x00\x00\x10\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, h, dropped, err := read(b)
		if err != nil {
			return
		}
		// A file that was read can be written and read again.
		var again bytes.Buffer
		w, err := NewWriter(&again, h)
		if err != nil {
			return // a header that is larger in our spelling
		}
		for _, s := range all {
			if err := w.Write(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(dropped); err != nil {
			t.Fatal(err)
		}
		got, _, n, err := read(again.Bytes())
		if err != nil || n != dropped || len(got) != len(all) {
			t.Fatalf("%d of %d, %d dropped of %d, %v", len(got), len(all), n, dropped, err)
		}
	})
}
