package pcapfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
)

// read is a packet whose bytes are kept.
type read struct {
	name, comment, data string
	time                int64
	timed               bool
	length              int
	link                LinkType
}

func readAll(t testing.TB, file []byte) (packets []read, truncated string, err error) {
	t.Helper()
	truncated, err = All("x.pcap", bytes.NewReader(file), func(p Packet) error {
		packets = append(packets, read{p.Interface.Name, p.Comment, string(p.Data), p.Time, p.TimeKnown, p.Length,
			p.Interface.Link})
		return nil
	})
	return packets, truncated, err
}

// pcap makes a file with one packet of 5 of 9 bytes at 7.000123456 s.
func pcap(order binary.AppendByteOrder, nano bool, link uint32) []byte {
	magic, fraction := uint32(0xa1b2c3d4), uint32(123)
	if nano {
		magic, fraction = 0xa1b23c4d, 123456
	}
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(order.AppendUint16(b, 2), 4)
	for _, word := range []uint32{0, 0, 64, link, 7, fraction, 5, 9} {
		b = order.AppendUint32(b, word)
	}
	return append(b, "hello"...)
}

func TestPcap(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for nano, time := range map[bool]int64{false: 7_000_123_000, true: 7_000_123_456} {
			file := pcap(order, nano, 113|0x2000<<16) // with a length of check sequences
			got, truncated, err := readAll(t, append(file, file[24:]...))
			want := read{data: "hello", time: time, timed: true, length: 9, link: CookedV1}
			if err != nil || truncated != "" || len(got) != 2 || got[0] != want || got[1] != want {
				t.Errorf("%v, nano %v: %+v %q %v", order, nano, got, truncated, err)
			}
		}
	}
}

// ng makes blocks of pcapng.
type ng struct{ order binary.AppendByteOrder }

func (n ng) words(words ...any) (b []byte) {
	for _, word := range words {
		switch word := word.(type) {
		case int:
			b = n.order.AppendUint32(b, uint32(word))
		case uint16:
			b = n.order.AppendUint16(b, word)
		case uint64:
			b = n.order.AppendUint64(b, word)
		case string:
			b = fill(append(b, word...))
		case []byte:
			b = append(b, word...)
		}
	}
	return b
}

func (n ng) block(kind int, words ...any) []byte {
	body := n.words(words...)
	return n.words(kind, len(body)+12, body, len(body)+12)
}

func (n ng) section() []byte {
	return n.block(blockSection, byteOrderMagic, uint16(1), uint16(0), uint64(math.MaxUint64))
}

func (n ng) device(link LinkType, options ...any) []byte {
	return n.block(blockInterface, append([]any{uint16(link), uint16(0), 64}, options...)...)
}

func (n ng) option(code uint16, value any) []byte {
	switch value := value.(type) {
	case string:
		return n.words(code, uint16(len(value)), value)
	case uint64:
		return n.words(code, uint16(8), value)
	}
	panic("no option")
}

func (n ng) packet(index int, stamp uint64, data string, options ...any) []byte {
	return n.block(blockEnhanced, append([]any{index, int(stamp >> 32), int(stamp & math.MaxUint32), len(data), 90, data},
		options...)...)
}

// TestNg reads sections of both orders, interfaces with all resolutions and offsets, and each kind of packet.
func TestNg(t *testing.T) {
	var file []byte
	for _, n := range []ng{{binary.LittleEndian}, {binary.BigEndian}} {
		file = append(file, bytes.Join([][]byte{
			n.section(),
			n.block(0xbad, "a block of another kind"),
			n.device(Ethernet, n.option(optionName, "eth0")),
			n.device(Raw, n.option(optionName, "nano"), n.option(optionResolution, "\x09"),
				n.option(optionComment, "skip me"), n.option(optionOffset, uint64(100)), n.words(optionEnd)),
			n.device(CookedV2, n.option(optionResolution, "\x94")), // 2^-20
			n.packet(0, 7_000_001, "abc", n.option(optionComment, "trial 3"), n.option(optionComment, "not this one")),
			n.packet(1, 7_000_000_001, "abcd", n.words(optionEnd), "junk"),
			n.packet(2, 5<<20|1<<19, ""),
			n.block(blockSimple, 90, "abcde\x00\x00\x00"),
			n.block(blockPacket, uint16(1), uint16(9), 0, 11, 2, 2, "ab"),
		}, nil)...)
	}
	got, truncated, err := readAll(t, file)
	if err != nil || truncated != "" {
		t.Fatal(truncated, err)
	}
	want := []read{
		{"eth0", "trial 3", "abc", 7_000_001_000, true, 90, Ethernet},
		{"nano", "", "abcd", 107_000_000_001, true, 90, Raw},
		{"", "", "", 5_500_000_000, true, 90, CookedV2},
		{"eth0", "", "abcde\x00\x00\x00", 0, false, 90, Ethernet},
		{"nano", "", "ab", 100_000_000_011, true, 2, Raw},
	}
	if got, want := fmt.Sprint(got), fmt.Sprint(append(want, want...)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestOffsetBeforeZero: the offset of time stamps can be negative.
func TestOffsetBeforeZero(t *testing.T) {
	n := ng{binary.BigEndian}
	file := bytes.Join([][]byte{n.section(), n.device(Raw, n.option(optionOffset, uint64(1<<64-5))),
		n.packet(0, 8_000_000, "x")}, nil)
	if got, _, err := readAll(t, file); err != nil || len(got) != 1 || got[0].time != 3_000_000_000 {
		t.Error(got, err)
	}
}

// TestTruncated: whatever the byte at which a file is cut, the whole packets before it are read, and the cut is said.
func TestTruncated(t *testing.T) {
	n := ng{binary.LittleEndian}
	one := n.packet(0, 1, "abc", n.option(optionComment, "c"))
	head := append(n.section(), n.device(Ethernet)...)
	cut := func(file []byte, head, one int) {
		for length := head; length <= len(file); length++ {
			got, truncated, err := readAll(t, file[:length])
			whole := (length - head) / one
			if err != nil || len(got) != whole || (truncated == "") != ((length-head)%one == 0) {
				t.Fatalf("cut at %d: %d packets, %q, %v", length, len(got), truncated, err)
			}
			if truncated != "" && !strings.Contains(truncated, fmt.Sprintf("byte %d,", length)) {
				t.Fatal(truncated)
			}
		}
	}
	cut(append(bytes.Clone(head), append(bytes.Clone(one), one...)...), len(head), len(one))
	file := pcap(binary.BigEndian, false, 1)
	cut(append(bytes.Clone(file), file[pcapHeader:]...), pcapHeader, len(file)-pcapHeader)
}

// TestDamaged: damage is an error with the file and the byte, and nothing that the file says becomes memory.
func TestDamaged(t *testing.T) {
	n := ng{binary.LittleEndian}
	head := append(n.section(), n.device(Ethernet)...)
	at := len(head)
	little := binary.LittleEndian
	with := func(file []byte, at int, value uint32) []byte {
		file = bytes.Clone(file)
		little.PutUint32(file[at:], value)
		return file
	}
	whole := append(bytes.Clone(head), n.packet(0, 1, "abcd")...)
	old := pcap(little, false, 1)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "x.pcap: byte 0: the file is empty"},
		{"text", []byte("hello world"), "byte 0: this is no capture"},
		{"short", []byte{0x0a}, "byte 0: this is no capture"},
		{"gzip", []byte{0x1f, 0x8b, 8, 0, 0}, "gunzip"},
		{"pcap version", with(old, 4, 3), "byte 4: version 3 of pcap"},
		{"pcap header", old[:20], "byte 20: the file ends inside its header"},
		{"pcap fraction", with(old, 28, 1e6), "byte 28: a fraction"},
		{"pcap size", with(old, 32, 1<<30), "byte 24: a packet of 1073741824 bytes"},
		{"pcap length", with(old, 36, 1<<31), "byte 36: a packet of 2147483648 bytes"},
		{"byte order", with(whole, 8, 1), "byte 8: a section header"},
		{"version", with(whole, 12, 2), "byte 12: version 2 of pcapng"},
		{"block of nothing", with(whole, at+4, 0), fmt.Sprintf("byte %d: a block of 0 bytes", at+4)},
		{"block of odd length", with(whole, at+4, 39), fmt.Sprintf("byte %d: a block of 39 bytes", at+4)},
		{"short packet", append(bytes.Clone(head), n.block(blockEnhanced, 0)...), "is too short"},
		{"short simple packet", append(bytes.Clone(head), n.block(blockSimple)...), "is too short"},
		{"packet too large", with(whole, at+20, 1000), "a packet of 1000 bytes in a block of"},
		{"packet too long", with(whole, at+24, 1<<31), "a packet of 2147483648 bytes"},
		{"huge packet", append(with(append(bytes.Clone(head), n.words(6, 1<<30+32)...), at+4, 1<<30+32),
			n.words(0, 0, 0, 1<<30, 1<<30)...), "the most is 262144"},
		{"no such interface", with(whole, at+8, 1), "a packet of interface 1, and the section has described 1"},
		{"no interface", append(n.section(), n.packet(0, 1, "")...), "the section has described 0"},
		{"other length at the end", with(whole, len(whole)-4, 44), "ends as one of 44"},
		{"time", with(whole, at+12, math.MaxUint32), "beyond the year 2262"},
		{"resolution", append(n.section(), n.device(Ethernet, n.option(optionResolution, "\x19"))...), "0x19"},
		{"binary resolution", append(n.section(), n.device(Ethernet, n.option(optionResolution, "\xc0"))...), "0xc0"},
		{"option", append(bytes.Clone(head), n.packet(0, 1, "", n.words(uint16(1), uint16(99)))...), "an option of 99"},
		{"interfaces", append(n.section(), bytes.Repeat(n.device(Ethernet), MaxInterfaces+1)...), "more than 1024"},
	} {
		got, _, err := readAll(t, c.file)
		var is *Error
		if !errors.As(err, &is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d packets, %v, want %q", c.name, len(got), err, c.want)
		}
	}
}

// zeros gives n zeros.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestMemory: large blocks of other kinds, and options, are read over without being held.
func TestMemory(t *testing.T) {
	n := ng{binary.LittleEndian}
	const large = 256 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	file := io.MultiReader(bytes.NewReader(append(n.section(), n.words(0xbad, large+12)...)), zeros(large),
		bytes.NewReader(append(n.words(large+12), n.device(Raw)...)), bytes.NewReader(n.packet(0, 1, "x")))
	count := 0
	truncated, err := All("x", file, func(Packet) error { count++; return nil })
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || truncated != "" || count != 1 || used > 1<<20 {
		t.Errorf("%d packets, %d bytes, %q %v", count, used, truncated, err)
	}
}

// TestWriter: what is written is read again.
func TestWriter(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, "nearfar", "run x")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"client", "router é"} {
		if n, err := w.AddInterface(Interface{Name: name, Link: Raw, Snaplen: 96}); n != i || err != nil {
			t.Fatal(n, err)
		}
	}
	const now = 1_795_808_765_123_456_789
	long := strings.Repeat("x", 2*maxText)
	for _, err := range []error{
		w.Write(1, now, 1500, []byte("abcde"), "trial 17"), w.Write(0, now+1, 2, []byte("xy"), ""),
		w.Write(0, 0, 0, nil, long),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		w.Write(2, 0, 0, nil, ""), w.Write(-1, 0, 0, nil, ""), w.Write(0, -1, 0, nil, ""),
		w.Write(0, 0, 1, []byte("ab"), ""), w.Write(0, 0, MaxPacket+1, make([]byte, MaxPacket+1), ""),
	} {
		if err == nil {
			t.Error("it was written")
		}
	}
	got, truncated, err := readAll(t, file.Bytes())
	want := []read{
		{"router é", "trial 17", "abcde", now, true, 1500, Raw}, {"client", "", "xy", now + 1, true, 2, Raw},
		{"client", long[:maxText], "", 0, true, 0, Raw},
	}
	if err != nil || truncated != "" || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v %q %v", got, truncated, err)
	}
}

// TestCounts: what is counted at an interface is written, and read in both orders of bytes.
func TestCounts(t *testing.T) {
	var written bytes.Buffer
	w, err := NewWriter(&written, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddInterface(Interface{Link: Ethernet}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.Write(0, 7, 3, []byte("abc"), ""), w.Counts(0, 8, 1<<40, 12)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if w.Counts(1, 8, 1, 0) == nil || w.Counts(-1, 8, 1, 0) == nil {
		t.Error("counts of no interface are written")
	}
	files := map[string][]byte{"written": written.Bytes()}
	for _, n := range []ng{{binary.LittleEndian}, {binary.BigEndian}} {
		files[n.order.String()] = bytes.Join([][]byte{
			n.section(), n.device(Ethernet), n.packet(0, 7, "abc"),
			n.block(blockCounts, 9, 0, 0, n.option(optionReceived, uint64(3))), // of no interface
			n.block(blockCounts, 0, 0, 0, n.option(optionReceived, uint64(1<<40)), n.option(optionDropped, uint64(12)),
				n.option(optionDropped, "short")),
		}, nil)
	}
	for name, file := range files {
		var of *Interface
		_, err := All(name, bytes.NewReader(file), func(p Packet) error {
			of = p.Interface
			return nil
		})
		if err != nil || of == nil || of.Received != 1<<40 || of.Dropped != 12 {
			t.Errorf("%s: %+v, %v", name, of, err)
		}
	}
}

// FuzzRead: no file makes the reader fail in another way than by an error, packets are within the limits, and what was
// read can be written and is then read as the same.
func FuzzRead(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		f.Add(pcap(order, true, 1))
		f.Add(pcap(order, false, 276))
		n := ng{order}
		f.Add(bytes.Join([][]byte{n.section(), n.device(Ethernet, n.option(optionName, "eth0"),
			n.option(optionResolution, "\x09"), n.option(optionOffset, uint64(3))),
			n.packet(0, 7_000_001, "abc", n.option(optionComment, "trial 3")), n.block(blockSimple, 9, "abcdefghi"),
			n.block(blockPacket, uint16(0), uint16(9), 0, 11, 2, 2, "ab"), n.block(5, "statistics"), n.section()}, nil))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader("x", bytes.NewReader(file))
		if err != nil {
			return
		}
		var again bytes.Buffer
		w, err := NewWriter(&again, "", "")
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		index, of := 0, (*Interface)(nil)
		for {
			p, err := r.Next()
			if err != nil {
				break
			}
			if len(p.Data) > MaxPacket || p.Length < len(p.Data) || p.Offset < 0 || p.Offset >= int64(len(file)) {
				t.Fatalf("%+v", p)
			}
			if p.Time < 0 {
				continue
			}
			if p.Interface != of {
				if index, err = w.AddInterface(*p.Interface); err != nil {
					break // too many
				}
				of = p.Interface
			}
			if err := w.Write(index, p.Time, p.Length, p.Data, p.Comment); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("%q %d %d %x %q %d", p.Interface.Name, p.Interface.Link, p.Time, p.Data,
				p.Comment, p.Length))
		}
		if _, err := r.Next(); err == nil {
			t.Fatal("a packet after the end")
		}
		var got []string
		if _, err := All("y", &again, func(p Packet) error {
			got = append(got, fmt.Sprintf("%q %d %d %x %q %d", p.Interface.Name, p.Interface.Link, p.Time, p.Data,
				p.Comment, p.Length))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%s\nwant %s", got, want)
		}
	})
}
