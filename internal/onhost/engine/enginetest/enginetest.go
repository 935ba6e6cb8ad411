// Package enginetest is shared by the tests of the engine's packages: processes that serve, and the parameters of short
// sessions.
package enginetest

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// Secret is the secret of the servers.
var Secret = []byte("open sesame")

// As outside of tests, the server of a test is a separate process: a hot thread that is blocked in the kernel would
// prevent the garbage collector of a common process from stopping the world, and so block the client's side.
const serverVariable = "NEARFAR_TEST_ENGINE_SERVER"

// StallVariable makes the server of a test stall for this long at the end of every period of five times that length.
const StallVariable = serverVariable + "_STALL"

// Main is the TestMain of a package whose tests need servers in processes of their own: the handler serves in them.
func Main(m *testing.M, handler session.DataHandler) {
	if listen := os.Getenv(serverVariable); listen != "" {
		if err := testServer(listen, handler); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	process.Tune()
	// Tests that are marked parallel wait for time limits and for other processes. So there may be more of them than
	// CPUs.
	if err := flag.Set("test.parallel", "16"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// testServer serves until standard input ends, and prints its address.
func testServer(listen string, handler session.DataHandler) error {
	process.Tune()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	port, err := strconv.Atoi(os.Getenv(serverVariable + "_DATA_PORT"))
	if err != nil {
		return err
	}
	var stall timing.Stall
	if length := os.Getenv(StallVariable); length != "" {
		if stall.Length, err = time.ParseDuration(length); err != nil {
			return err
		}
		stall.Period = 5 * stall.Length
	}
	return session.Serve(ctx, session.ServeOptions{Listen: listen, DataPort: port, Secret: Secret, Stall: stall,
		Listening: func(at netip.AddrPort) { fmt.Println(at) },
		Log:       func(message string) { fmt.Fprintln(os.Stderr, message) }}, handler)
}

// Start starts a server process that ends with the test, and returns its address and a way to kill it.
func Start(t testing.TB, listen string, dataPort int) (string, func()) {
	t.Helper()
	address, process, ended := StartProcess(t, listen, dataPort)
	return address, func() {
		_ = process.Kill()
		<-ended
	}
}

// StartProcess starts a server process that must end with the test when it is asked to. ended is closed when it has
// ended.
func StartProcess(t testing.TB, listen string, dataPort int) (address string, server *os.Process,
	ended <-chan struct{}) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = process.WithPreemptionOff(append(os.Environ(), serverVariable+"="+listen,
		serverVariable+"_DATA_PORT="+strconv.Itoa(dataPort)))
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	t.Cleanup(func() {
		_ = stdin.Close()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
			_ = cmd.Process.Kill()
			<-gone
		}
	})
	address, err = bufio.NewReader(stdout).ReadString('\n')
	go func() {
		_ = cmd.Wait()
		close(gone)
	}()
	if err != nil {
		t.Fatalf("the server does not say where it listens: %v", err)
	}
	return strings.TrimSpace(address), cmd.Process, gone
}

// RR has the parameters of a short session of rr.
func RR(protocol string) wire.Params {
	return wire.Params{Mode: wire.ModeRR, Protocol: protocol, Request: 100, Response: 60, Connections: 1,
		Warmup: 20 * time.Millisecond, Duration: 300 * time.Millisecond}
}

// Stream has the parameters of a short stream.
func Stream(connections int) wire.Params {
	return wire.Params{Mode: wire.ModeStream, Protocol: wire.TCP, Message: 64 << 10, Connections: connections,
		Warmup: 50 * time.Millisecond, Duration: 600 * time.Millisecond}
}

// Messages has the parameters of a short session of messages.
func Messages(protocol string, message, batch int) wire.Params {
	p := wire.Params{Mode: wire.ModeMessages, Protocol: protocol, Message: message, Connections: 1,
		Warmup: 50 * time.Millisecond, Duration: 250 * time.Millisecond}
	p.Batch = batch
	return p
}

// Load has the parameters of a short load.
func Load(protocol string, connections int) wire.Params {
	return wire.Params{Mode: wire.ModeLoad, Protocol: protocol, Request: 64, Response: 40, Connections: connections,
		Warmup: 50 * time.Millisecond, Duration: 500 * time.Millisecond}
}

// LoadOptions has the options of a load at a rate, in requests per second.
func LoadOptions(address string, p wire.Params, rate float64) session.RunOptions {
	return session.RunOptions{Server: address, Secret: Secret, Params: p, Load: session.Load{
		Schedule: timing.Schedule{Arrivals: timing.ConstantArrivals, Steps: []timing.Step{{Rate: rate,
			Length: p.Duration}}}, Spin: timing.DefaultSpin}}
}

// Stamped have a warm-up that is long enough for the overhead to be measured.
func Stamped(protocol string) wire.Params {
	p := RR(protocol)
	p.Warmup, p.Duration, p.Timestamps = 200*time.Millisecond, 700*time.Millisecond, true
	return p
}

// Datagram makes a datagram of a session. One that is too short for a header has only as much of the cookie as fits.
func Datagram(size int, cookie wire.Cookie, sequence uint64) []byte {
	b := make([]byte, size)
	copy(b, cookie[:])
	if size >= wire.DatagramHeader {
		wire.PutSequence(b, sequence)
	}
	return b
}

// DueTimes are when the requests of a schedule are to leave.
func DueTimes(s timing.Schedule) (all []int64) {
	p := s.Pacer()
	for {
		due, more := p.Next()
		if !more {
			return all
		}
		all = append(all, due)
	}
}

// OnLinux skips the test on other systems.
func OnLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("socket options are of Linux")
	}
}
