package hdr

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// encoded gives a histogram as HdrHistogram's Go library writes it.
func encoded(t testing.TB, lowest, highest int64, digits int, values ...int64) []byte {
	t.Helper()
	h := hdrhistogram.New(lowest, highest, digits)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	data, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Count and quantiles are equal to those of HdrHistogram's Go library, for several geometries.
func TestDecodeAgreesWithTheLibrary(t *testing.T) {
	var d Decoder
	var s Histogram
	for _, geometry := range []struct {
		lowest, highest int64
		digits          int
	}{{1, 100_000_000_000, 3}, {1, 100_000_000_000, 2}, {1000, 3_600_000_000_000, 4}, {16, 1 << 40, 1},
		{1, 1 << 45, 5}} {
		r := rand.New(rand.NewPCG(40, uint64(geometry.digits)))
		var values []int64
		for range 5000 {
			values = append(values, geometry.lowest+int64(10_000*r.ExpFloat64())*geometry.lowest)
		}
		data := encoded(t, geometry.lowest, geometry.highest, geometry.digits, values...)
		library, err := hdrhistogram.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(append(data, '\n'), &s); err != nil {
			t.Fatalf("%+v: %v", geometry, err)
		}
		if s.total != library.TotalCount() {
			t.Errorf("%+v: %d values, want %d", geometry, s.total, library.TotalCount())
		}
		for _, p := range []float64{1, 50, 90, 99, 99.9, 100} {
			if got, want := s.Quantile(p), library.ValueAtPercentile(p); got != want {
				t.Errorf("%+v: p%g is %d, want %d", geometry, p, got, want)
			}
		}
		for i, slot := range s.at {
			if back := s.slot(s.highest(int(slot))); back != int(slot) {
				t.Fatalf("%+v: slot %d holds up to %d, which belongs to slot %d", geometry, s.at[i],
					s.highest(int(slot)), back)
			}
		}
	}
}

// The buckets are equal to those of HdrHistogram's Go library, for any range and precision.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lowest, digits := rapid.Int64Range(1, 5000).Draw(t, "lowest"), rapid.IntRange(1, 5).Draw(t, "digits")
		highest := rapid.Int64Range(2*lowest, 1<<45).Draw(t, "highest")
		h := hdrhistogram.New(lowest, highest, digits)
		for _, v := range rapid.SliceOfN(rapid.Int64Range(0, highest), 0, 50).Draw(t, "values") {
			if err := h.RecordValue(v); err != nil {
				t.Fatal(err)
			}
		}
		data, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		read, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		var want []Bucket
		for _, b := range h.Distribution() {
			if b.Count > 0 {
				want = append(want, Bucket{b.From, b.To, b.Count})
			}
		}
		if got := slices.Collect(read.Buckets()); !slices.Equal(got, want) {
			t.Fatalf("lowest %d, %d digits: %v, want %v", lowest, digits, got, want)
		}
	})
}

// A histogram takes memory for its filled slots, not for its range.
func TestMemoryIsBounded(t *testing.T) {
	wide := encoded(t, 1, 1<<45, 5, 1<<44)
	many := packed(append(header(2*maxFilled, 0, 5, 1), bytes.Repeat(counts(1, 0), maxFilled)...))
	for name, data := range map[string][]byte{"far apart": wide, "full": many} {
		before := new(runtime.MemStats)
		runtime.ReadMemStats(before)
		var d Decoder
		var h Histogram
		for range 10 {
			if err := d.Decode(data, &h); err != nil {
				t.Fatal(err)
			}
		}
		after := new(runtime.MemStats)
		runtime.ReadMemStats(after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 40<<20 {
			t.Errorf("%s: %d bytes, for a file of %d", name, took, len(data))
		}
	}
}

// A histogram of another geometry keeps its number of values in a pool, and its quantiles within the width of a slot.
func TestPoolOfTwoGeometries(t *testing.T) {
	fine, err := Decode(encoded(t, 1, 1<<40, 4, 1000, 2000, 3000))
	if err != nil {
		t.Fatal(err)
	}
	coarse, err := Decode(encoded(t, 1, 1<<40, 2, 1000, 2001, 2002, 500_000))
	if err != nil {
		t.Fatal(err)
	}
	for name, both := range map[string][2]*Histogram{"fine first": {fine, coarse}, "coarse first": {coarse, fine}} {
		var p Pool
		if err := errors.Join(p.Add(both[0]), p.Add(both[1])); err != nil {
			t.Fatal(err)
		}
		all := p.Histogram()
		if all.Total() != 7 {
			t.Errorf("%s: %d values", name, all.Total())
		}
		for percentile, want := range map[float64]float64{10: 1000, 50: 2000, 100: 500_000} {
			if got := float64(all.Quantile(percentile)); math.Abs(got-want) > want/64 {
				t.Errorf("%s: p%g is %g, want about %g", name, percentile, got, want)
			}
		}
	}
}

// packed compresses and encodes a histogram that a test wrote by hand.
func packed(plain []byte) []byte {
	var b bytes.Buffer
	head := binary.BigEndian.AppendUint32(nil, compressedCookie|0x10)
	b.Write(binary.BigEndian.AppendUint32(head, 0))
	z := zlib.NewWriter(&b)
	_, _ = z.Write(plain) // writing into memory cannot fail
	_ = z.Close()
	return base64.StdEncoding.AppendEncode(nil, b.Bytes())
}

// header gives the header of a histogram with the engine's geometry.
func header(length, offset, digits uint32, lowest uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, encodingCookie|0x10)
	for _, v := range []uint32{length, offset, digits} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	b = binary.BigEndian.AppendUint64(b, lowest)
	b = binary.BigEndian.AppendUint64(b, 100_000_000_000)
	return binary.BigEndian.AppendUint64(b, 0)
}

func counts(values ...int64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func TestDecodeRefuses(t *testing.T) {
	with := func(body []byte) []byte { return packed(append(header(uint32(len(body)), 0, 3, 1), body...)) }
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":        {nil, "compressed V2"},
		"no base64":      {[]byte("no histogram!"), "no base64"},
		"another cookie": {base64.StdEncoding.AppendEncode(nil, []byte("0123456789abcdef")), "compressed V2"},
		"no zlib": {base64.StdEncoding.AppendEncode(nil,
			append(binary.BigEndian.AppendUint64(nil, (compressedCookie|0x10)<<32), "junk"...)), "cannot be unpacked"},
		"short":            {packed([]byte("short")), "V2 encoding"},
		"longer than it":   {packed(header(100, 0, 3, 1)), "out of bounds"},
		"an offset":        {packed(header(0, 7, 3, 1)), "out of bounds"},
		"9 digits":         {packed(header(0, 0, 9, 1)), "out of bounds"},
		"lowest of 0":      {packed(header(0, 0, 3, 0)), "out of bounds"},
		"lowest too large": {packed(header(0, 0, 3, 1<<62)), "out of bounds"},
		"cut off":          {with([]byte{0x80}), "cut off"},
		"too many zeros":   {with(counts(-1 << 40)), "out of bounds"},
		"too far":          {with(append(counts(-60_000), counts(1, 1)...)), "out of bounds"},
		"too many":         {with(counts(1<<52, 1<<52, 1)), "out of bounds"},
		"a bomb":           {packed(make([]byte, maxPlain+1)), "more than"},
		"many slots":       {with(bytes.Repeat(counts(1), maxFilled+1)), "out of bounds"},
		"many slots, fine": {packed(append(header(maxFilled+1, 0, 5, 1), bytes.Repeat(counts(1), maxFilled+1)...)),
			"more than"},
		"a long file": {bytes.Repeat([]byte("A"), MaxFile+1), "at most"},
	} {
		var d Decoder
		var s Histogram
		if err := d.Decode(test.data, &s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		// After an error, the decoder can read the next histogram.
		if err := d.Decode(encoded(t, 1, 100_000_000_000, 3, 1000), &s); err != nil || s.total != 1 {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, 1, 100_000_000_000, 3, 1, 1000, 1000, 5_000_000))
	f.Add(packed(append(header(4, 0, 3, 1), counts(-5, 3, 2)...)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Decoder
		var s Histogram
		if len(data) > 1<<16 || d.Decode(data, &s) != nil {
			return
		}
		var total int64
		for i, n := range s.counts {
			if total += n; n <= 0 || i > 0 && s.at[i] <= s.at[i-1] || s.highest(int(s.at[i])) < 0 {
				t.Fatalf("slot %d: %d values up to %d", s.at[i], n, s.highest(int(s.at[i])))
			}
		}
		if total != s.total {
			t.Fatalf("%d values, and %d in the slots", s.total, total)
		}
		var p Pool
		if err := errors.Join(p.Add(&s), p.Add(&s)); err != nil {
			t.Fatal(err)
		}
		if all := p.Histogram(); all.total != 2*s.total || s.total > 0 && all.Quantile(50) != s.Quantile(50) {
			t.Fatalf("twice the same: %d of %d", all.total, s.total)
		}
	})
}

func TestFarthest(t *testing.T) {
	read := func(values ...int64) *Histogram {
		var d Decoder
		s := &Histogram{}
		if err := d.Decode(encoded(t, 1, 100_000_000_000, 3, values...), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := read(10, 20, 30, 40), read(10, 20, 50, 60)
	// All four values of a are at most 40, and two of the values of b.
	if share, at := Farthest(a, b); share != 0.5 || at != 40 {
		t.Errorf("%v at %d, want 0.5 at 40", share, at)
	}
	if share, at := Farthest(b, a); share != -0.5 || at != 40 {
		t.Errorf("%v at %d, want -0.5 at 40", share, at)
	}
	if share, _ := Farthest(a, a); share != 0 {
		t.Errorf("from itself: %v", share)
	}
}
