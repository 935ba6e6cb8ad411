package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// everyMode has the parameters of a session of each mode. The window is longer than any test waits.
func everyMode() map[string]session.RunOptions {
	base := wire.Params{Protocol: wire.TCP, Connections: 1, Warmup: 10 * time.Millisecond, Duration: time.Minute}
	with := func(change func(o *session.RunOptions)) session.RunOptions {
		o := session.RunOptions{Params: base}
		o.Params.Request, o.Params.Response = 64, 64
		change(&o)
		return o
	}
	oneWay := func(mode, protocol string, message, connections int) func(o *session.RunOptions) {
		return func(o *session.RunOptions) {
			o.Params.Mode, o.Params.Protocol, o.Params.Message, o.Params.Connections = mode, protocol, message,
				connections
			o.Params.Request, o.Params.Response = 0, 0
		}
	}
	modes := map[string]session.RunOptions{
		"crr":          with(func(o *session.RunOptions) { o.Params.Mode = wire.ModeCRR }),
		"stream":       with(oneWay(wire.ModeStream, wire.TCP, 64<<10, 2)),
		"messages tcp": with(oneWay(wire.ModeMessages, wire.TCP, 64, 1)),
		"messages udp": with(oneWay(wire.ModeMessages, wire.UDP, 64, 1)),
	}
	for _, direction := range []string{wire.Download, wire.Both} {
		modes["stream "+direction] = with(func(o *session.RunOptions) {
			oneWay(wire.ModeStream, wire.TCP, 64<<10, 2)(o)
			o.Params.Direction = direction
		})
	}
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		modes["rr "+protocol] = with(func(o *session.RunOptions) {
			o.Params.Mode, o.Params.Protocol = wire.ModeRR,
				protocol
		})
		modes["rr with timestamps "+protocol] = with(func(o *session.RunOptions) {
			o.Params.Mode, o.Params.Protocol, o.Params.Timestamps = wire.ModeRR, protocol, true
		})
		modes["load "+protocol] = with(func(o *session.RunOptions) {
			o.Params.Mode, o.Params.Protocol, o.Params.Connections = wire.ModeLoad, protocol, 4
			o.Load.Schedule = timing.Schedule{Arrivals: timing.ConstantArrivals, Steps: []timing.Step{{Rate: 1000,
				Length: time.Minute}}}
		})
	}
	return modes
}

// TestServerOutlivesItsClients loses a client in every mode and in every way. The server then takes the next session
// within two seconds, uses no CPU time without a client, and ends when it must.
func TestServerOutlivesItsClients(t *testing.T) {
	for name, o := range everyMode() {
		t.Run(name, func(t *testing.T) {
			address, server, _ := enginetest.StartProcess(t, "127.0.0.1:0", 0)
			o.Server, o.Secret = address, enginetest.Secret
			for way, lose := range waysToLose() {
				// The first attempt of each way shows that the client of the way before was not missed.
				if err := onceFree(func() error { return lose(t, o) }); err != nil {
					t.Fatalf("%s: %v", way, err)
				}
			}
			if err := onceFree(func() error { return abandon(t, o, false) }); err != nil {
				t.Fatal(err)
			}
			rests(t, server.Pid)
		})
	}
}

// onceFree attempts something again while the server is busy, for two seconds.
func onceFree(attempt func() error) error {
	for began := time.Now(); ; {
		err := attempt()
		if err == nil || !strings.Contains(err.Error(), "busy") || time.Since(began) > 2*time.Second {
			return err
		}
	}
}

// waysToLose lists how a client can be lost. Each gives the error of a session that never came to be.
func waysToLose() map[string]func(t *testing.T, o session.RunOptions) error {
	during := func(moment time.Duration) func(t *testing.T, o session.RunOptions) error {
		return func(t *testing.T, o session.RunOptions) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o.Live = true
			_, err := Run(ctx, o, &canceller{after: moment, cancel: cancel})
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return fmt.Errorf("a run that was to be given up: %w", err)
		}
	}
	return map[string]func(t *testing.T, o session.RunOptions) error{
		"before the data": func(t *testing.T, o session.RunOptions) error { return abandon(t, o, false) },
		"reset":           func(t *testing.T, o session.RunOptions) error { return abandon(t, o, true) },
		"at the start":    during(0),
		"in the window":   during(200 * time.Millisecond),
	}
}

// abandon agrees on a session, and then closes its control connection with or without a reset.
func abandon(t *testing.T, o session.RunOptions, reset bool) error {
	t.Helper()
	conn, err := net.Dial("tcp", o.Server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	frames, err := wire.GreetServer(conn, o.Secret)
	if err != nil {
		return err
	}
	if err := frames.Write(wire.KindSetup, o.Params); err != nil {
		return err
	}
	if err := frames.Expect(wire.KindReady, &wire.Ready{}); err != nil {
		return err
	}
	if reset {
		return conn.(*net.TCPConn).SetLinger(0)
	}
	return nil
}

// canceller is an observer that ends a run some time after its start.
type canceller struct {
	after  time.Duration
	cancel context.CancelFunc
}

func (c *canceller) Start(record.Start) error {
	time.AfterFunc(c.after, c.cancel)
	return nil
}

func (c *canceller) Interval(record.Interval) error { return nil }

// rests checks that a process uses almost no CPU time.
func rests(t *testing.T, pid int) {
	t.Helper()
	const watched = 300 * time.Millisecond
	before := cpuTime(t, pid)
	<-time.After(watched) // what is measured is a length of time
	if used := cpuTime(t, pid) - before; used > watched/3 {
		t.Errorf("the server used %v of CPU time in %v without a client", used, watched)
	}
}

// cpuTime is the CPU time that a process has used, from /proc/PID/stat (proc_pid_stat(5)).
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name may hold spaces; the fields count from behind its parenthesis.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}
