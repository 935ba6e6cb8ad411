package stream

import (
	"net"
	"testing"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/sys"
)

// streamPair is a connection over loopback of which both ends are sockets of the engine.
func streamPair(t testing.TB) (from, to *sys.Socket) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if from, err = sys.New(dialed.(sys.Raw)); err != nil {
		t.Fatal(err)
	}
	if to, err = sys.New(accepted.(sys.Raw)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

// streamMessage sends one message and receives it, on one thread: it fits into the socket's buffers.
func streamMessage(s *sender, to *sys.Socket, buffer []byte) bool {
	return s.send() && sys.ReadRest(to, buffer, to.Read(buffer))
}

func TestStreamDoesNotAllocate(t *testing.T) {
	from, to := streamPair(t)
	s, buffer := &sender{socket: from, message: sys.NewBuffer(8 << 10)}, sys.NewBuffer(8<<10)
	failed := false
	if n := testing.AllocsPerRun(200, func() { failed = failed || !streamMessage(s, to, buffer) }); n != 0 {
		t.Errorf("a message allocates %v times", n)
	}
	if failed {
		t.Error("a message did not arrive")
	}
}

func BenchmarkStreamMessage(b *testing.B) {
	from, to := streamPair(b)
	s, buffer := &sender{socket: from, message: sys.NewBuffer(8 << 10)}, sys.NewBuffer(8<<10)
	b.ReportAllocs()
	b.SetBytes(int64(len(s.message)))
	for b.Loop() {
		if !streamMessage(s, to, buffer) {
			b.Fatal("a message did not arrive")
		}
	}
}

// TestZeroCopyDoesNotAllocate also drains the notifications.
func TestZeroCopyDoesNotAllocate(t *testing.T) {
	enginetest.OnLinux(t)
	from, to := streamPair(t)
	s, buffer := &sender{socket: from, message: sys.NewBuffer(8 << 10)}, sys.NewBuffer(8<<10)
	var err error
	if s.zero, err = sys.NewZeroCopy(from); err != nil {
		t.Fatal(err)
	}
	failed := false
	if n := testing.AllocsPerRun(200, func() { failed = failed || !streamMessage(s, to, buffer) }); n != 0 {
		t.Errorf("a message allocates %v times", n)
	}
	s.zero.Finish()
	if sends, completed, _ := s.zero.Counts(); failed || sends < 201 || completed != sends {
		t.Errorf("failed: %v; %d sends, %d completed", failed, sends, completed)
	}
}

// TestMain turns the collector off, as in earnest: it would wait for a hot thread that is blocked in the kernel.
func TestMain(m *testing.M) { enginetest.Main(m, Serve) }
