package tls

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/hosts/hosttest"
)

// agentVariable makes this test program an agent that echoes. It prints its join string and, for each line that it
// reads, its figures.
const agentVariable = "NEARFAR_TEST_TLS_AGENT"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hosttest.Verb {
		os.Exit(hosttest.Main(os.Args[1:]))
	}
	if os.Getenv(agentVariable) != "" {
		if err := beAgent(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "8"); err != nil { // most of them wait until a time limit has passed
			panic(err)
		}
	}
	m.Run()
}

// figures are what an agent's process uses.
type figures struct {
	// Resident and Peak are its memory and the most that it ever had, in bytes.
	Resident, Peak int64
	// CPU is its CPU time in seconds.
	CPU                         float64
	Goroutines, Files, MostOpen int
	Refused                     int64
}

func beAgent() error {
	a, err := NewAgent(context.Background(), AgentOptions{Listen: "127.0.0.1:0", Expires: time.Hour, Idle: time.Minute})
	if err != nil {
		return err
	}
	fmt.Println(a.Join().Encode())
	echo(a)
	mostOpen := 0
	var mu sync.Mutex
	go func() {
		for {
			mu.Lock()
			mostOpen = max(mostOpen, openFiles())
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		mu.Lock()
		f := figures{Resident: statusBytes("VmRSS"), Peak: statusBytes("VmHWM"), CPU: cpuTime(),
			Goroutines: runtime.NumGoroutine(), Files: openFiles(), MostOpen: mostOpen, Refused: a.Refused()}
		mu.Unlock()
		if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
			return err
		}
	}
	return nil
}

func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries) - 1 // the directory itself
}

func statusBytes(key string) int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == key+":" {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

func cpuTime() float64 {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // never fails for this process
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// TestFlood lets 10,000 strangers connect to an agent while its owner works: the agent's memory and files stay bounded,
// every word of the owner comes back, and the owner can connect again in the middle.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes 10,000 connections")
	}
	const connections, workers = 10_000, 400
	agent := exec.Command(os.Args[0]) //nolint:gosec // this test program
	agent.Env = append(os.Environ(), agentVariable+"=1")
	agent.Stderr = os.Stderr
	in, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(in.Close(), agent.Wait()); err != nil {
			t.Error(err)
		}
	}()
	lines := bufio.NewReader(out)
	text, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ask := func() figures {
		t.Helper()
		var f figures
		if _, err := io.WriteString(in, "figures\n"); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	_, dialer := ownerOf(t, text)
	c := mustConnect(t, dialer)
	if err := say(c, "before"); err != nil {
		t.Fatal(err)
	}
	before := ask()
	// The owner's messages, each with the time until its echo arrived, until the strangers have ended.
	over := make(chan struct{})
	type worked struct {
		round []time.Duration
		err   error
	}
	owner := make(chan worked, 1)
	go func() {
		var w worked
		for w.err == nil {
			select {
			case <-over:
				owner <- w
				return
			default:
			}
			started := time.Now()
			w.err = say(c, fmt.Sprint("word ", len(w.round)))
			w.round = append(w.round, time.Since(started))
		}
		owner <- w
	}()
	at := mustParse(t, text).Addresses[0]
	started := time.Now()
	flood(t, at, connections, workers, func(i int) {
		if i == connections/2 {
			if err := say(mustConnect(t, dialer), "in the middle"); err != nil {
				t.Error(err)
			}
		}
	})
	took := time.Since(started)
	close(over)
	w := <-owner
	if w.err != nil {
		t.Errorf("the owner's connection: %v", w.err)
	}
	waitFor(t, "the last strangers to be refused", func() bool { return ask().Refused >= connections })
	waitFor(t, "the files of strangers to be closed", func() bool { return ask().Files <= before.Files+1 })
	after := ask()
	slices.Sort(w.round)
	t.Logf("%d strangers in %v (%.0f us of the agent's CPU each)", connections, took.Round(time.Millisecond),
		(after.CPU-before.CPU)/connections*1e6)
	t.Logf("memory before %.1f MiB, after %.1f MiB, most %.1f MiB", mebibytes(before.Resident),
		mebibytes(after.Resident), mebibytes(after.Peak))
	t.Logf("files before %d, after %d, most %d; goroutines before %d, after %d", before.Files, after.Files,
		after.MostOpen, before.Goroutines, after.Goroutines)
	t.Logf("the owner's words: %d, round trip p50 %v, p99 %v, max %v", len(w.round), w.round[len(w.round)/2],
		w.round[len(w.round)*99/100], w.round[len(w.round)-1])
	if after.Peak-before.Resident > 48<<20 {
		t.Errorf("strangers took %.1f MiB", mebibytes(after.Peak-before.Resident))
	}
	if most := before.Files + maxHalfOpen + 10; after.MostOpen > most {
		t.Errorf("%d files open, want at most %d", after.MostOpen, most)
	}
	if after.Goroutines > before.Goroutines+5 {
		t.Errorf("%d goroutines, before %d", after.Goroutines, before.Goroutines)
	}
}

func mustParse(t *testing.T, text string) Join {
	t.Helper()
	j, err := ParseJoin(text)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// flood makes connections of several kinds of strangers, many at the same time. Each ends when the agent ends it.
func flood(t *testing.T, at string, connections, workers int, each func(i int)) {
	t.Helper()
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	settings := config(id, func(Fingerprint) error { return nil })
	numbers := make(chan int)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for i := range numbers {
				each(i)
				floodOnce(at, i, settings)
			}
		})
	}
	for i := range connections {
		numbers <- i
	}
	close(numbers)
	running.Wait()
}

func floodOnce(at string, i int, settings *tls.Config) {
	c, err := net.Dial("tcp", at)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	var r io.Reader = c
	switch i % 4 {
	case 0: // says nothing
	case 1:
		_, _ = c.Write([]byte(strings.Repeat("garbage ", 100)))
	case 2: // a handshake, and then nothing
		s := tls.Client(c, settings)
		_ = s.Handshake()
		r = s
	case 3: // a wrong token
		s := tls.Client(c, settings)
		_, _ = s.Write(make([]byte, 32))
		r = s
	}
	_, _ = io.Copy(io.Discard, r)
}
