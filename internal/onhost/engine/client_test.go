package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

func TestMain(m *testing.M) {
	if ask := os.Getenv(clientVariable); ask != "" {
		if err := testClient(ask); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	enginetest.Main(m, serve)
}

// clientVariable makes the test binary a client process that measures as the variable's JSON says, and prints its
// error.
const clientVariable = "NEARFAR_TEST_ENGINE_CLIENT"

// asked says what a client process measures.
type asked struct {
	Server   string
	Params   wire.Params
	Load     session.Load
	Patience time.Duration
}

func testClient(text string) error {
	process.Tune()
	var a asked
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return err
	}
	o := session.RunOptions{Server: a.Server, Secret: enginetest.Secret, Params: a.Params, Load: a.Load,
		Patience: a.Patience}
	var said outcome
	r, err := Run(context.Background(), o, &collector{})
	if said.Result = r; err != nil {
		said.Failure = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}

// outcome is the result of a client process's measurement. Failure is its error, or empty.
type outcome struct {
	Result  record.Result
	Failure string
}

// measureApart measures in a process of its own, so that several can measure side by side: a hot loop keeps other
// goroutines of its process waiting. The error says that the process did not end within the limit, or failed.
func measureApart(t testing.TB, ask asked, limit time.Duration) (said outcome, err error) {
	t.Helper()
	text, err := json.Marshal(ask)
	if err != nil {
		return said, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	client := exec.CommandContext(ctx, os.Args[0])
	client.Env = process.WithPreemptionOff(append(os.Environ(), clientVariable+"="+string(text)))
	client.Stderr = t.Output()
	printed, err := client.Output()
	if ctx.Err() != nil {
		return said, fmt.Errorf("it still goes on after %v", limit)
	}
	if err != nil {
		return said, fmt.Errorf("%w: %.300s", err, printed)
	}
	return said, json.Unmarshal(printed, &said)
}

// collector is an Observer that keeps all that it gets.
type collector struct {
	Started   record.Start
	Intervals []record.Interval
	// OnStart is called at the start; it may be nil.
	OnStart func()
}

// Start keeps the first line.
func (c *collector) Start(s record.Start) error {
	c.Started = s
	if c.OnStart != nil {
		c.OnStart()
	}
	return nil
}

// Interval keeps an interval.
func (c *collector) Interval(i record.Interval) error {
	c.Intervals = append(c.Intervals, i)
	return nil
}
