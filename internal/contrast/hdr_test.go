package contrast

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
)

// encoded is a histogram as HdrHistogram's own library writes it.
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

// TestDecodeAgreesWithTheLibrary: count and quantiles are those of HdrHistogram's own library, in other geometries too.
func TestDecodeAgreesWithTheLibrary(t *testing.T) {
	var d decoder
	var s slots
	for _, geometry := range []struct {
		lowest, highest int64
		digits          int
	}{{1, 100_000_000_000, 3}, {1, 100_000_000_000, 2}, {1000, 3_600_000_000_000, 4}, {16, 1 << 40, 1}} {
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
		if err := d.decode(append(data, '\n'), &s); err != nil {
			t.Fatalf("%+v: %v", geometry, err)
		}
		if s.total != library.TotalCount() {
			t.Errorf("%+v: %d values, want %d", geometry, s.total, library.TotalCount())
		}
		for _, p := range []float64{1, 50, 90, 99, 99.9, 100} {
			if got, want := s.quantile(p), library.ValueAtPercentile(p); got != want {
				t.Errorf("%+v: p%g is %d, want %d", geometry, p, got, want)
			}
		}
		for i, slot := range s.at {
			if back := s.slot(s.highest(int(slot))); back != int(slot) {
				t.Fatalf("%+v: slot %d holds up to %d, which belongs to slot %d", geometry, s.at[i], s.highest(int(slot)), back)
			}
		}
	}
}

// packed compresses what a test wrote by hand.
func packed(plain []byte) []byte {
	var b bytes.Buffer
	head := binary.BigEndian.AppendUint32(nil, compressedCookie|0x10)
	b.Write(binary.BigEndian.AppendUint32(head, 0))
	z := zlib.NewWriter(&b)
	_, _ = z.Write(plain) // into memory: it cannot fail
	_ = z.Close()
	return base64.StdEncoding.AppendEncode(nil, b.Bytes())
}

// header begins a histogram of the engine's geometry.
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
		"nothing":          {nil, "compressed V2"},
		"no base64":        {[]byte("no histogram!"), "no base64"},
		"another cookie":   {base64.StdEncoding.AppendEncode(nil, []byte("0123456789abcdef")), "compressed V2"},
		"no zlib":          {base64.StdEncoding.AppendEncode(nil, append(binary.BigEndian.AppendUint64(nil, (compressedCookie|0x10)<<32), "junk"...)), "cannot be unpacked"},
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
		"a bomb":           {packed(make([]byte, maxHistogramPlain+1)), "more than"},
	} {
		var d decoder
		var s slots
		if err := d.decode(test.data, &s); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		// It reads the next one all the same.
		if err := d.decode(encoded(t, 1, 100_000_000_000, 3, 1000), &s); err != nil || s.total != 1 {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, 1, 100_000_000_000, 3, 1, 1000, 1000, 5_000_000))
	f.Add(packed(append(header(4, 0, 3, 1), counts(-5, 3, 2)...)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d decoder
		var s slots
		if len(data) > 1<<16 || d.decode(data, &s) != nil {
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
		var p pool
		p.add(&s)
		p.add(&s)
		if all := p.slots(); all.total != 2*s.total || s.total > 0 && all.quantile(50) != s.quantile(50) {
			t.Fatalf("twice the same: %d of %d", all.total, s.total)
		}
	})
}

func TestFarthest(t *testing.T) {
	read := func(values ...int64) *slots {
		var d decoder
		s := &slots{}
		if err := d.decode(encoded(t, 1, 100_000_000_000, 3, values...), s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := read(10, 20, 30, 40), read(10, 20, 50, 60)
	// Of a, all four are at most 40; of b two.
	if share, at := farthest(a, b); share != 0.5 || at != 40 {
		t.Errorf("%v at %d, want 0.5 at 40", share, at)
	}
	if share, at := farthest(b, a); share != -0.5 || at != 40 {
		t.Errorf("%v at %d, want -0.5 at 40", share, at)
	}
	if share, _ := farthest(a, a); share != 0 {
		t.Errorf("from itself: %v", share)
	}
}
