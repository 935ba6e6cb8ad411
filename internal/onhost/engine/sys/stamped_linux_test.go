//go:build !portable

package sys

import (
	"encoding/binary"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// control writes control messages as the kernel does.
type control []byte

func (c control) message(level, kind uint32, data []byte) control {
	c = binary.NativeEndian.AppendUint64(c, uint64(controlHeader+len(data)))
	c = binary.NativeEndian.AppendUint32(c, level)
	c = binary.NativeEndian.AppendUint32(c, kind)
	c = append(c, data...)
	for len(c)%8 != 0 {
		c = append(c, 0)
	}
	return c
}

func timespecs(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

func extendedError(origin byte, info, data uint32) []byte {
	b := make([]byte, extendedErrLength)
	b[4] = origin
	binary.NativeEndian.PutUint32(b[8:12], info)
	binary.NativeEndian.PutUint32(b[12:16], data)
	return b
}

func TestDecodeControl(t *testing.T) {
	stamp := timespecs(3, 5, 0, 0, 7, 9)
	for name, c := range map[string]struct {
		control control
		want    controlReport
	}{
		"nothing": {nil, controlReport{}},
		"arrival": {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp),
			controlReport{software: 3e9 + 5, hardware: 7e9 + 9}},
		"sent over IPv4": {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp).message(unix.SOL_IP,
			unix.IP_RECVERR, extendedError(4, 0, 41)), controlReport{software: 3e9 + 5, hardware: 7e9 + 9, sent: true,
			id: 41}},
		"sent over IPv6": {control{}.message(unix.SOL_IPV6, unix.IPV6_RECVERR, extendedError(4, 0,
			42)).message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp), controlReport{software: 3e9 + 5, hardware: 7e9 +
			9, sent: true, id: 42}},
		"queued": {control{}.message(unix.SOL_IP, unix.IP_RECVERR, extendedError(4, 1, 41)),
			controlReport{id: 41}},
		"an ICMP error": {control{}.message(unix.SOL_IP, unix.IP_RECVERR, extendedError(2, 0, 41)),
			controlReport{id: 41}},
		"another":   {control{}.message(unix.SOL_SOCKET, unix.SCM_RIGHTS, []byte{1, 2, 3, 4}), controlReport{}},
		"cut short": {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp)[:40], controlReport{}},
		"too short": {control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp[:16]), controlReport{}},
	} {
		if got := decodeControl(c.control); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzDecodeControl(f *testing.F) {
	f.Add([]byte(control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, timespecs(1, 2, 3, 4, 5,
		6)).message(unix.SOL_IP, unix.IP_RECVERR, extendedError(4, 0, 1))))
	f.Add([]byte(control{}.message(1, 2, nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := decodeControl(b)
		if r.sent && len(b) < controlHeader+extendedErrLength || r.software != 0 &&
			len(b) < controlHeader+timestampLength {
			t.Errorf("%d bytes say %+v", len(b), r)
		}
	})
}

// TestStampedSocket: the stamps of this kernel over loopback, for one datagram at a time, and none while stamps are
// off.
func TestStampedSocket(t *testing.T) {
	receiver, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	sender, err := net.Dial("udp", receiver.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	from, err := New(sender.(Raw))
	if err != nil {
		t.Fatal(err)
	}
	to, err := New(receiver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close(); to.Close() })
	tx, err := NewStampedSocket(from, 1)
	if err != nil {
		t.Fatal(err)
	}
	rx, err := NewStampedSocket(to, 1)
	if err != nil {
		t.Fatal(err)
	}
	message, previous := make([]byte, 64), Stamps{}
	// exchange sends one datagram and gives its two timestamps.
	exchange := func() (sent, arrived int64) {
		t.Helper()
		if n := from.Write(message); n != len(message) {
			t.Fatal(from.Err())
		}
		if n := rx.Read(message); n != len(message) {
			t.Fatal(to.Err())
		}
		if !tx.On {
			return 0, rx.Rx
		}
		tx.Sent++
		current := Stamps{ID: tx.LastID()}
		tx.Transmits(&current, &previous)
		return current.Tx, rx.Rx
	}
	for range 3 {
		if sent, arrived := exchange(); sent != 0 || arrived != 0 {
			t.Errorf("timestamps %d and %d of a socket that has none", sent, arrived)
		}
		for _, s := range []*StampedSocket{tx, rx} {
			if err := s.Turn(true); err != nil {
				t.Fatal(err)
			}
		}
		var last int64
		for tries := 0; ; tries++ {
			sent, arrived := exchange()
			if sent <= last {
				t.Fatalf("sent at %d after %d", sent, last)
			}
			last = sent
			if arrived != 0 {
				if arrived < sent {
					t.Errorf("arrived at %d, sent at %d", arrived, sent)
				}
				break
			}
			if tries == 10_000 {
				t.Fatal("the kernel does not say when a datagram arrives")
			}
		}
		for _, s := range []*StampedSocket{tx, rx} {
			if err := s.Turn(false); err != nil {
				t.Fatal(err)
			}
		}
	}
}
