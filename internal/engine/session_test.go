package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

// The server of a test is a process of its own, as in earnest: a hot thread that is blocked in the kernel would keep the
// collector of a process from stopping the world, and so the client's side from going on.
const serverVariable = "NEARFAR_TEST_ENGINE_SERVER"

// stallVariable makes the server of a test stop answering for so long at the end of five times that.
const stallVariable = serverVariable + "_STALL"

func TestMain(m *testing.M) {
	if listen := os.Getenv(serverVariable); listen != "" {
		if err := testServer(listen); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if asked := os.Getenv(clientVariable); asked != "" {
		if err := testClient(asked); err != nil {
			fmt.Println(err)
		}
		return
	}
	Tune()
	os.Exit(m.Run())
}

// clientVariable makes the test binary a client process that measures as the variable's JSON says, and prints its error.
const clientVariable = "NEARFAR_TEST_ENGINE_CLIENT"

// asked is what a client process is to do.
type asked struct {
	Server   string
	Params   Params
	Load     Load
	Patience time.Duration
}

func testClient(text string) error {
	Tune()
	var a asked
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return err
	}
	_, err := Run(context.Background(), RunOptions{Server: a.Server, Secret: testSecret, Params: a.Params, Load: a.Load, patience: a.Patience}, &collector{})
	return err
}

// testServer serves until standard input ends, and prints its address.
func testServer(listen string) error {
	Tune()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	port, err := strconv.Atoi(os.Getenv(serverVariable + "_DATA_PORT"))
	if err != nil {
		return err
	}
	var stall Stall
	if length := os.Getenv(stallVariable); length != "" {
		if stall.Length, err = time.ParseDuration(length); err != nil {
			return err
		}
		stall.Period = 5 * stall.Length
	}
	return Serve(ctx, ServeOptions{Listen: listen, DataPort: port, Secret: testSecret, Stall: stall,
		Listening: func(at netip.AddrPort) { fmt.Println(at) },
		Log:       func(message string) { fmt.Fprintln(os.Stderr, message) }})
}

// startServer starts a server process that ends with the test, and returns its address and a way to kill it.
func startServer(t testing.TB, listen string, dataPort int) (string, func()) {
	t.Helper()
	address, process, ended := startServerProcess(t, listen, dataPort)
	return address, func() {
		_ = process.Kill()
		<-ended
	}
}

// startServerProcess starts a server process that must end with the test when it is told to. ended is closed when it has.
func startServerProcess(t testing.TB, listen string, dataPort int) (address string, process *os.Process, ended <-chan struct{}) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = withPreemptionOff(append(os.Environ(), serverVariable+"="+listen, serverVariable+"_DATA_PORT="+strconv.Itoa(dataPort)))
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

// collector is an Observer that keeps what it is told.
type collector struct {
	start     record.Start
	intervals []record.Interval
	// onStart is called at the start, if set.
	onStart func()
}

func (c *collector) Start(s record.Start) error {
	c.start = s
	if c.onStart != nil {
		c.onStart()
	}
	return nil
}

func (c *collector) Interval(i record.Interval) error {
	c.intervals = append(c.intervals, i)
	return nil
}

func rrParams(protocol string) Params {
	return Params{Mode: ModeRR, Protocol: protocol, Request: 100, Response: 60, Connections: 1,
		Warmup: 20 * time.Millisecond, Duration: 300 * time.Millisecond}
}

func streamParams(connections int) Params {
	return Params{Mode: ModeStream, Protocol: TCP, Message: 64 << 10, Connections: connections,
		Warmup: 50 * time.Millisecond, Duration: 1200 * time.Millisecond}
}

func run(t testing.TB, address string, p Params) (record.Result, *collector, error) {
	t.Helper()
	c := &collector{}
	r, err := Run(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p}, c)
	return r, c, err
}

func value(t testing.TB, r record.Result, name, stat, scope string) float64 {
	t.Helper()
	for _, m := range r.Metrics {
		if m.Name == name && m.Stat == stat && m.Scope == scope {
			return m.Value
		}
	}
	t.Fatalf("the result has no %s %s %s", name, stat, scope)
	return 0
}

func TestTransactions(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := startServer(t, listen, 0)
		crr := rrParams(TCP)
		crr.Mode = ModeCRR
		large := rrParams(TCP)
		large.Request, large.Response = 1<<20, 300_000 // several reads and writes each
		for name, p := range map[string]Params{"tcp": rrParams(TCP), "udp": rrParams(UDP), "crr": crr, "large": large} {
			t.Run(name+" "+listen, func(t *testing.T) {
				r, c, err := run(t, address, p)
				if err != nil {
					t.Fatal(err)
				}
				checkTransactions(t, p, r, c)
			})
		}
	}
}

func checkTransactions(t *testing.T, p Params, r record.Result, c *collector) {
	t.Helper()
	h, err := hdrhistogram.Decode([]byte(r.Histogram))
	if err != nil {
		t.Fatal(err)
	}
	var inIntervals int64
	for _, i := range c.intervals {
		inIntervals += i.Count
	}
	if h.TotalCount() != inIntervals || inIntervals == 0 {
		t.Errorf("%d in the histogram, %d in the intervals", h.TotalCount(), inIntervals)
	}
	// One transaction at a time: the mean times the rate is one, less what a lost or interrupted moment costs.
	if share := value(t, r, result.TransactionRate, "", "") * value(t, r, result.RTT, "mean", ""); share > 1.0001 || share < 0.5 {
		t.Errorf("rate times mean round trip is %v", share)
	}
	least, median, most := value(t, r, result.RTT, "min", ""), value(t, r, result.RTT, "p50", ""), value(t, r, result.RTT, "max", "")
	if least <= 0 || least > median || median > most {
		t.Errorf("min %v, p50 %v, max %v", least, median, most)
	}
	if r.Duration < p.Duration.Seconds() || c.start.Duration != p.Duration.Seconds() {
		t.Errorf("a window of %v, announced %v", r.Duration, c.start.Duration)
	}
	answered, err := strconv.ParseInt(r.Facts["server.transactions"], 10, 64)
	if err != nil || answered < inIntervals {
		t.Errorf("the server answered %d (%v), the client recorded %d", answered, err, inIntervals)
	}
	switch {
	case p.Mode == ModeCRR:
		if connect := value(t, r, result.ConnectTime, "p50", ""); connect >= median {
			t.Errorf("connecting took %v of %v", connect, median)
		}
	case p.Protocol == UDP:
		if sent, lost := value(t, r, result.Sent, "", ""), value(t, r, result.Lost, "", ""); sent != float64(inIntervals)+lost {
			t.Errorf("sent %v, received %v, lost %v", sent, inIntervals, lost)
		}
	default:
		if r.Facts["tcp_nodelay"] != "true" || r.Facts["tcp_mss"] == "" || r.Facts["server.tcp_congestion"] == "" || r.Facts["cpus"] == "" {
			t.Errorf("facts: %v", r.Facts)
		}
	}
}

func TestStream(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, connections := range []int{1, 4} {
		r, c, err := run(t, address, streamParams(connections))
		if err != nil {
			t.Fatal(err)
		}
		var bytes int64
		for _, i := range c.intervals {
			bytes += i.Bytes
		}
		if len(c.intervals) == 0 || strconv.FormatInt(bytes, 10) != r.Facts["server.bytes"] {
			t.Errorf("%d intervals with %d bytes, in all %s", len(c.intervals), bytes, r.Facts["server.bytes"])
		}
		if got, want := value(t, r, result.Goodput, "", ""), float64(bytes)*8/r.Duration; got <= 0 || got/want > 1.0001 || got/want < 0.9999 {
			t.Errorf("goodput %v, not %v", got, want)
		}
		value(t, r, result.Retransmits, "", "")
		for _, side := range []string{"client", "server"} {
			if cores := value(t, r, result.CPU, "", side); cores <= 0 || cores > 64 {
				t.Errorf("the %s used %v cores", side, cores)
			}
		}
	}
}
