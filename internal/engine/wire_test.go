package engine

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

var testSecret = []byte("open sesame")

func TestGreeting(t *testing.T) {
	g := greeting{version: 7, nonce: newNonce()}
	bound := []byte("the other nonce")
	b := g.encode(testSecret, labelChallenge, bound)
	got, err := decodeGreeting(b, testSecret, labelChallenge, bound)
	if err != nil || got != g {
		t.Fatalf("decoded %v, %v", got, err)
	}
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 0x40
		if _, err := decodeGreeting(changed, testSecret, labelChallenge, bound); err == nil {
			t.Errorf("a greeting with byte %d changed is taken", i)
		}
	}
	for name, err := range map[string]error{
		"another secret": second(decodeGreeting(b, []byte("other"), labelChallenge, bound)),
		"another label":  second(decodeGreeting(b, testSecret, labelHello, bound)),
		"another nonce":  second(decodeGreeting(b, testSecret, labelChallenge, []byte("x"))),
		"too short":      second(decodeGreeting(b[:len(b)-1], testSecret, labelChallenge, bound)),
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
func pair(wire *bytes.Buffer) (client, server *frameConn) {
	a, b := newNonce(), newNonce()
	return newFrameConn(buffered{nil, wire}, testSecret, a, b, true), newFrameConn(buffered{wire, nil}, testSecret, a, b, false)
}

func TestFrames(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	want := Params{Mode: ModeRR, Protocol: TCP, Request: 1, Response: 2, Connections: 1, Warmup: 3, Duration: time.Second}
	if err := client.write(frameSetup, want); err != nil {
		t.Fatal(err)
	}
	if err := client.write(frameStop, nil); err != nil {
		t.Fatal(err)
	}
	var got Params
	if err := server.expect(frameSetup, &got); err != nil || got != want {
		t.Fatalf("got %+v, %v", got, err)
	}
	if err := server.expect(frameStop, nil); err != nil {
		t.Fatal(err)
	}
}

// TestFramesOutOfPlace: a frame that is changed, repeated, reflected or out of order is refused.
func TestFramesOutOfPlace(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	if err := client.write(frameStop, nil); err != nil {
		t.Fatal(err)
	}
	frame := bytes.Clone(wire.Bytes())
	for i := frameHeader - 1; i < len(frame); i++ {
		changed := bytes.Clone(frame)
		changed[i] ^= 1
		server.rw = buffered{bytes.NewReader(changed), nil}
		if _, _, err := server.read(); !errors.Is(err, errNotAuthentic) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	server.rw = buffered{bytes.NewReader(append(bytes.Clone(frame), frame...)), nil}
	if _, _, err := server.read(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := server.read(); !errors.Is(err, errNotAuthentic) {
		t.Errorf("a repeated frame: %v", err)
	}
	client.rw = buffered{bytes.NewReader(frame), nil}
	if _, _, err := client.read(); !errors.Is(err, errNotAuthentic) {
		t.Errorf("a reflected frame: %v", err)
	}
}

func TestFrameTooLarge(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	if err := client.write(frameFailure, failure{Message: strings.Repeat("x", maxPayload)}); err == nil {
		t.Error("a frame that is too large is sent")
	}
	wire.Write([]byte{0xff, 0xff, 0xff, 0xff, 1})
	if _, _, err := server.read(); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a frame that is too large: %v", err)
	}
}

func TestExpect(t *testing.T) {
	var wire bytes.Buffer
	client, server := pair(&wire)
	for _, v := range []any{failure{Message: "no\x1b[31m"}, nil} {
		if err := client.write(frameFailure, v); err != nil {
			t.Fatal(err)
		}
	}
	var p *peerError
	if err := server.expect(frameStop, nil); !errors.As(err, &p) || p.Error() != `no\u001b[31m` {
		t.Errorf("a failure: %v", err)
	}
	if err := server.expect(frameStop, nil); err == nil || errors.As(err, &p) {
		t.Errorf("a failure without payload: %v", err)
	}
	if err := client.write(frameBegin, nil); err != nil {
		t.Fatal(err)
	}
	if err := server.expect(frameStop, nil); err == nil {
		t.Error("a frame of another kind is taken")
	}
}

func TestPayloadIsStrict(t *testing.T) {
	for _, text := range []string{``, `{`, `{"port":1}{}`, `{"port":1,"extra":2}`, `{"port":"1"}`, `[]`} {
		var r ready
		if err := decodePayload([]byte(text), &r); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestParamsValidate(t *testing.T) {
	good := Params{Mode: ModeRR, Protocol: UDP, Request: 64, Response: 32, Connections: 1, Duration: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Params){
		"mode":           func(p *Params) { p.Mode = "sing" },
		"protocol":       func(p *Params) { p.Protocol = "icmp" },
		"crr over udp":   func(p *Params) { p.Mode = ModeCRR },
		"no duration":    func(p *Params) { p.Duration = 0 },
		"long duration":  func(p *Params) { p.Duration = 25 * time.Hour },
		"warm-up":        func(p *Params) { p.Warmup = -1 },
		"no connections": func(p *Params) { p.Connections = 0 },
		"rr, two":        func(p *Params) { p.Connections = 2 },
		"small datagram": func(p *Params) { p.Response = datagramHeader - 1 },
		"large datagram": func(p *Params) { p.Request = maxDatagram + 1 },
		"amplification":  func(p *Params) { p.Response = 65 },
		"no message":     func(p *Params) { p.Mode, p.Protocol = ModeStream, TCP },
		"no request":     func(p *Params) { p.Protocol, p.Request = TCP, 0 },
		"large response": func(p *Params) { p.Protocol, p.Response = TCP, maxMessage+1 },
	} {
		p := good
		change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: %+v is taken", name, p)
		}
	}
}

func FuzzGreeting(f *testing.F) {
	g := greeting{version: 1, nonce: newNonce()}
	f.Add(g.encode(testSecret, labelHello, nil))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeGreeting(b, testSecret, labelHello, nil)
		if err == nil && !bytes.Equal(got.encode(testSecret, labelHello, nil)[:6], b[:6]) {
			t.Errorf("a greeting that is not what was encoded")
		}
	})
}

// FuzzFrame reads arbitrary bytes as frames, on both sides.
func FuzzFrame(f *testing.F) {
	var wire bytes.Buffer
	client, _ := pair(&wire)
	if err := client.write(frameSetup, Params{Mode: ModeRR}); err != nil {
		f.Fatal(err)
	}
	f.Add(wire.Bytes())
	f.Add([]byte{0, 0, 0, 0, 9})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, isClient := range []bool{false, true} {
			c := newFrameConn(buffered{bytes.NewReader(b), nil}, testSecret, nonce{}, nonce{}, isClient)
			if _, _, err := c.read(); err == nil {
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
		if decodePayload(b, &p) == nil && p.Validate() == nil {
			if p.length() <= 0 || p.Request > maxMessage || p.Response > maxMessage || p.Connections > maxConnections {
				t.Errorf("unbounded parameters %+v", p)
			}
		}
		var r report
		if decodePayload(b, &r) == nil && r.check() == nil && (r.CPU < 0 || r.Bytes < 0) {
			t.Errorf("report %+v", r)
		}
		var y ready
		_ = decodePayload(b, &y) // must not panic; the client checks port and cookie
		state := &streamState{begun: true}
		_ = (&client{}).streamFrame(state, frameInterval, b, nil, &collector{})
		if err := decodeFailure(b); err == nil {
			t.Error("a failure is no error")
		}
	})
}
