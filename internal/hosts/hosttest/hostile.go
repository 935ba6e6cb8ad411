package hosttest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/yamux"
)

// HostileModes are the ways in which a hostile agent answers its owner.
func HostileModes() []string { return slices.Sorted(maps.Keys(hostileModes())) }

// A hostileMode is what a hostile agent does on a connection after the greeting, or in place of it.
type hostileMode struct {
	// greet replaces the greeting.
	greet func(conn io.ReadWriteCloser)
	// raw replaces yamux.
	raw func(conn io.ReadWriteCloser)
	// calls replace the answers to calls, by their names. read is also called after the first reply.
	calls map[string]func(stream io.ReadWriter)
	// opened is called with the session.
	opened func(s *yamux.Session)
}

// never answers nothing, until the connection ends.
func never(stream io.ReadWriter) { _, _ = io.Copy(io.Discard, stream) }

func hostileModes() map[string]hostileMode {
	calls := func(name string, do func(io.ReadWriter)) hostileMode {
		return hostileMode{calls: map[string]func(io.ReadWriter){name: do}}
	}
	one := func(w io.Writer) error { // a chunk of one byte
		_, err := w.Write([]byte{0, 0, 0, 1, 'x'})
		return err
	}
	answer := func(text string) func(io.ReadWriter) {
		return func(stream io.ReadWriter) { hostileSend(stream, json.RawMessage(text)) }
	}
	return map[string]hostileMode{
		"greets-slowly": {greet: func(conn io.ReadWriteCloser) {
			for _, b := range []byte{0, 0, 15, 255, '{'} {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
			never(conn)
		}},
		"greets-never": {greet: func(conn io.ReadWriteCloser) { never(conn) }},
		"greets-huge": {greet: func(conn io.ReadWriteCloser) {
			_, _ = conn.Write([]byte{0xff, 0xff, 0xff, 0xff})
			_, _ = io.Copy(conn, endless{})
		}},
		"mute":       {raw: func(conn io.ReadWriteCloser) { never(conn) }},
		"ping-flood": {raw: floods(slices.Repeat(frameOf(2, 1, 0, 7), 1000))},
		"deaf-ping-flood": {raw: func(conn io.ReadWriteCloser) {
			pour(conn, slices.Repeat(frameOf(2, 1, 0, 7), 1024))
		}},
		"stream-flood": {opened: func(s *yamux.Session) {
			for {
				if _, err := s.OpenStream(); err != nil {
					return
				}
			}
		}},
		"data-flood":       {raw: floods(append(frameOf(0, 0, 1, 64<<10), make([]byte, 64<<10)...))},
		"no-frames":        {raw: func(conn io.ReadWriteCloser) { _, _ = io.Copy(conn, endless{}) }},
		"facts-never":      calls("facts", never),
		"facts-numbers":    calls("facts", answer(`{"facts":{"allowed":[`+strings.Repeat("1,", 450_000)+`1]}}`)),
		"facts-nested":     calls("facts", answer(`{"facts":`+strings.Repeat("[", 500_000))),
		"facts-no-json":    calls("facts", answer(strings.Repeat("x", 1000))),
		"facts-long-error": calls("facts", answer(`{"error":"`+strings.Repeat("long ", 180_000)+`"}`)),
		"start-never":      calls("start", never),
		"kill-never":       {calls: map[string]func(io.ReadWriter){"wait": never, "read": never, "kill": never}},
		"wait-never":       calls("wait", never),
		"read-never":       calls("read", never),
		"read-drips": calls("read", func(stream io.ReadWriter) {
			for hostileSend(stream, struct{}{}); one(stream) == nil; {
				time.Sleep(100 * time.Millisecond)
			}
		}),
		"read-flood": calls("read", func(stream io.ReadWriter) {
			hostileSend(stream, struct{}{})
			pour(stream, append(binary.BigEndian.AppendUint32(nil, 32<<10), make([]byte, 32<<10)...))
		}),
		"stop-never":   {calls: map[string]func(io.ReadWriter){"wait": never, "stop": never}},
		"close-never":  calls("close", never),
		"forget-never": calls("forget", never),
	}
}

// endless is a reader of bytes 0xff without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 0xff
	}
	return len(b), nil
}

// frameOf is the header of a frame of yamux.
func frameOf(kind byte, flags uint16, stream, length uint32) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0, kind}, flags)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, stream), length)
}

// floods sends frames again and again, and reads what comes.
func floods(frames []byte) func(io.ReadWriteCloser) {
	return func(conn io.ReadWriteCloser) {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		pour(conn, frames)
	}
}

// pour writes the same bytes again and again, until the connection ends.
func pour(conn io.Writer, data []byte) {
	for {
		if _, err := conn.Write(data); err != nil {
			return
		}
	}
}

// ServeHostile serves one connection of an owner as a hostile agent does, until the connection ends. It is an
// implementation of the agent's protocol (docs/adr/0042-agent-protocol.md) of its own. An unknown mode is an error.
func ServeHostile(conn io.ReadWriteCloser, mode string) error {
	defer func() { _ = conn.Close() }()
	m, known := hostileModes()[mode]
	if !known {
		return fmt.Errorf("unknown mode %q", mode)
	}
	var hello struct {
		Protocol int `json:"protocol"`
	}
	if err := hostileReceive(conn, &hello); err != nil {
		return err
	}
	if m.greet != nil {
		m.greet(conn)
		return nil
	}
	hostileSend(conn, map[string]any{"protocol": hello.Protocol, "instance": "hostile"})
	if m.raw != nil {
		m.raw(conn)
		return nil
	}
	c := yamux.DefaultConfig()
	c.LogOutput = io.Discard
	s, err := yamux.Server(conn, c)
	if err != nil {
		return err
	}
	if m.opened != nil {
		go m.opened(s)
	}
	for {
		stream, err := s.AcceptStream()
		if err != nil {
			return nil //nolint:nilerr // the connection has ended
		}
		go func() {
			defer func() { _ = stream.Close() }()
			m.answer(stream)
		}()
	}
}

// answer answers one call.
func (m hostileMode) answer(stream io.ReadWriter) {
	var q struct {
		Call string `json:"call"`
	}
	if hostileReceive(stream, &q) != nil {
		return
	}
	if q.Call == "start" || q.Call == "put" { // the body
		for n := uint32(1); n > 0; {
			if binary.Read(stream, binary.BigEndian, &n) != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, stream, int64(n)); err != nil {
				return
			}
		}
	}
	if do := m.calls[q.Call]; do != nil {
		do(stream)
		return
	}
	now := time.Now()
	switch q.Call {
	case "facts":
		hostileSend(stream, map[string]any{"facts": map[string]any{
			"system": map[string]string{"OS": "linux", "Arch": "amd64"}, "free": 1 << 40}})
	case "start":
		hostileSend(stream, map[string]any{"started": now})
	case "wait":
		hostileSend(stream, map[string]any{"ended": now})
	case "read":
		hostileSend(stream, struct{}{})
		_, _ = stream.Write(make([]byte, 4))
		hostileSend(stream, map[string]any{"output": map[string]any{}})
	default:
		hostileSend(stream, struct{}{})
	}
}

// hostileSend sends a message; an error shows at the other side.
func hostileSend(w io.Writer, message any) {
	body, err := json.Marshal(message)
	if raw, ok := message.(json.RawMessage); ok {
		body, err = raw, nil // also if it is no JSON
	}
	if err == nil {
		_, _ = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	}
}

func hostileReceive(r io.Reader, message any) error {
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return err
	}
	body := make([]byte, min(n, 1<<24))
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, message)
}
