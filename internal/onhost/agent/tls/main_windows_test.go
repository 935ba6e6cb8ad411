package tls

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
)

// TestMain lets the test program be the suite's program, or an agent: see TestWindowsOverTLS.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == hosttest.Verb {
		os.Exit(hosttest.Main(os.Args[1:]))
	}
	if len(os.Args) > 4 && os.Args[1] == "agent" {
		if err := beAgent(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// beAgent is an agent that runs all commands and takes files. It prints its join string. It makes its own folder below
// another one.
func beAgent(how, address, below string) error {
	o := AgentOptions{Expires: time.Hour, Idle: time.Minute, Log: func(m string) { fmt.Fprintln(os.Stderr, m) }}
	if how == "--listen" {
		o.Listen = address
	} else {
		o.Dial = address
	}
	a, err := NewAgent(context.Background(), o)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // it returns nil
	folder, err := os.MkdirTemp(below, "nearfar-agent-")
	if err != nil {
		return err
	}
	fmt.Println(a.Join().Encode())
	ctx := context.Background()
	err = agent.Serve(ctx, func() (io.ReadWriteCloser, error) { return a.Accept(ctx) }, agent.ServerOptions{
		Session: a.Join().Session(), Folder: folder, Alone: true, Log: o.Log,
	})
	if err != nil {
		return err
	}
	return os.Remove(folder) // nothing is left in it
}
