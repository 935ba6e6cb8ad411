package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

var knownSecret = []byte("open sesame")

func TestGreeting(t *testing.T) {
	g := greeting{version: 7, nonce: newNonce()}
	bound := []byte("the other nonce")
	b := g.encode(knownSecret, labelChallenge, bound)
	got, err := decodeGreeting(b, knownSecret, labelChallenge, bound)
	if err != nil || got != g {
		t.Fatalf("decoded %v, %v", got, err)
	}
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 0x40
		if _, err := decodeGreeting(changed, knownSecret, labelChallenge, bound); err == nil {
			t.Errorf("a greeting with byte %d changed is taken", i)
		}
	}
	for name, err := range map[string]error{
		"another secret": second(decodeGreeting(b, []byte("other"), labelChallenge, bound)),
		"another label":  second(decodeGreeting(b, knownSecret, labelHello, bound)),
		"another nonce":  second(decodeGreeting(b, knownSecret, labelChallenge, []byte("x"))),
		"too short":      second(decodeGreeting(b[:len(b)-1], knownSecret, labelChallenge, bound)),
	} {
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func second(_ greeting, err error) error { return err }

// buffered is one end of a connection that is a buffer.
type buffered struct {
	io.Reader
	io.Writer
}

// pair returns two frame connections: what the first writes, the second reads from wire.
func pair(wire *bytes.Buffer) (client, server *Conn) {
	a, b := newNonce(), newNonce()
	return newConn(buffered{nil, wire}, knownSecret, a, b, true), newConn(buffered{wire, nil}, knownSecret, a, b, false)
}

func TestFrames(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	want := Params{Mode: ModeRR, Protocol: TCP, Request: 1, Response: 2, Connections: 1, Warmup: 3,
		Duration: time.Second}
	if err := client.Write(KindSetup, want); err != nil {
		t.Fatal(err)
	}
	if err := client.Write(KindStop, nil); err != nil {
		t.Fatal(err)
	}
	var got Params
	if err := server.Expect(KindSetup, &got); err != nil || got != want {
		t.Fatalf("got %+v, %v", got, err)
	}
	if err := server.Expect(KindStop, nil); err != nil {
		t.Fatal(err)
	}
}

// TestFramesOutOfPlace: a frame that is changed, repeated, reflected or out of order is refused.
func TestFramesOutOfPlace(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	if err := client.Write(KindStop, nil); err != nil {
		t.Fatal(err)
	}
	frame := bytes.Clone(wire.Bytes())
	for i := frameHeader - 1; i < len(frame); i++ {
		changed := bytes.Clone(frame)
		changed[i] ^= 1
		server.rw = buffered{bytes.NewReader(changed), nil}
		if _, _, err := server.Read(); !errors.Is(err, errNotAuthentic) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	server.rw = buffered{bytes.NewReader(append(bytes.Clone(frame), frame...)), nil}
	if _, _, err := server.Read(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := server.Read(); !errors.Is(err, errNotAuthentic) {
		t.Errorf("a repeated frame: %v", err)
	}
	client.rw = buffered{bytes.NewReader(frame), nil}
	if _, _, err := client.Read(); !errors.Is(err, errNotAuthentic) {
		t.Errorf("a reflected frame: %v", err)
	}
}

func TestFrameTooLarge(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	if err := client.Write(KindFailure, Failure{Message: strings.Repeat("x", maxPayload)}); err == nil {
		t.Error("a frame that is too large is sent")
	}
	wire.Write([]byte{0xff, 0xff, 0xff, 0xff, 1})
	if _, _, err := server.Read(); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a frame that is too large: %v", err)
	}
}

func TestExpect(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	for _, v := range []any{Failure{Message: "no\x1b[31m"}, nil} {
		if err := client.Write(KindFailure, v); err != nil {
			t.Fatal(err)
		}
	}
	var p *PeerError
	if err := server.Expect(KindStop, nil); !errors.As(err, &p) || p.Error() != `no\u001b[31m` {
		t.Errorf("a failure: %v", err)
	}
	if err := server.Expect(KindStop, nil); err == nil || errors.As(err, &p) {
		t.Errorf("a failure without payload: %v", err)
	}
	if err := client.Write(KindBegin, nil); err != nil {
		t.Fatal(err)
	}
	if err := server.Expect(KindStop, nil); err == nil {
		t.Error("a frame of another kind is taken")
	}
}

func TestPayloadIsStrict(t *testing.T) {
	for _, text := range []string{``, `{`, `{"port":1}{}`, `{"port":1,"extra":2}`, `{"port":"1"}`, `[]`} {
		var r Ready
		if err := DecodePayload([]byte(text), &r); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzGreeting(f *testing.F) {
	g := greeting{version: 1, nonce: newNonce()}
	f.Add(g.encode(knownSecret, labelHello, nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeGreeting(b, knownSecret, labelHello, nil)
		if err == nil && !bytes.Equal(got.encode(knownSecret, labelHello, nil)[:6], b[:6]) {
			t.Errorf("a greeting that is not what was encoded")
		}
	})
}

// FuzzFrame reads arbitrary bytes as frames, on both sides.
func FuzzFrame(f *testing.F) {
	var wire bytes.Buffer
	client, _ := pair(&wire)
	if err := client.Write(KindSetup, Params{Mode: ModeRR}); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Add([]byte{0, 0, 0, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, isClient := range []bool{false, true} {
			c := newConn(buffered{bytes.NewReader(b), nil}, knownSecret, nonce{}, nonce{}, isClient)
			if _, _, err := c.Read(); err == nil {
				t.Error("a frame without the key is taken")
			}
		}
	})
}

// FuzzPayload decodes arbitrary payloads of every kind, as if their frames were authentic.
func FuzzPayload(f *testing.F) {
	f.Add([]byte(`{"mode":"rr","protocol":"tcp","request":1,"response":1,"connections":1,"warmup":0,"duration":1}`))
	f.Add([]byte(`{"port":1,"cookie":"AAAA"}`))
	f.Add([]byte(`{"start":0,"end":1,"bytes":5}`))
	f.Add([]byte(`{"version":"1","facts":{"a":"b"},"cpu":1,"elapsed":2}`))
	f.Add([]byte(`{"message":"\u001b"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Params
		if DecodePayload(b, &p) == nil && p.Validate() == nil {
			if p.Length() <= 0 || p.Request > MaxMessage || p.Response > MaxMessage || p.Connections > MaxConnections {
				t.Errorf("unbounded parameters %+v", p)
			}
		}
		var r Report
		if DecodePayload(b, &r) == nil && r.Check() == nil && (r.CPU < 0 || r.Bytes < 0) {
			t.Errorf("report %+v", r)
		}
		var y Ready
		_ = DecodePayload(b, &y) // must not panic; the client checks port and cookie
		if err := DecodeFailure(b); err == nil {
			t.Error("a failure is no error")
		}
	})
}
