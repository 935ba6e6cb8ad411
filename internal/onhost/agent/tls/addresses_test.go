package tls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Several agents can dial the same address of one owner.
func TestSeveralAgentsDialOneAddress(t *testing.T) {
	at := freeAddress(t)
	o, err := NewOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = o.Close() }()
	for i := range 3 {
		a := agentOf(t, AgentDials, func(o *AgentOptions) { o.Dial = at })
		echo(a)
		dialer, err := o.Dialer(a.Join())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Dialer(a.Join()); err == nil || !strings.Contains(err.Error(), "for two hosts") {
			t.Errorf("the same join string twice: %v", err)
		}
		if err := say(mustConnect(t, dialer), fmt.Sprint("agent ", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// Addresses that nothing answers, or that another program answers, are passed over.
func TestSeveralAddresses(t *testing.T) {
	other := agentOf(t, OwnerDials, nil)
	echo(other)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it never accepts: the handshake gets no answer
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	a := agentOf(t, OwnerDials, nil)
	echo(a)
	j := a.Join()
	j.Addresses = []string{silent.Addr().String(), freeAddress(t), other.Join().Addresses[0], j.Addresses[0]}
	_, dialer := ownerOf(t, j.Encode())
	if err := say(mustConnect(t, dialer), "found"); err != nil {
		t.Fatal(err)
	}
	j.Addresses = j.Addresses[1:3]
	_, dialer = ownerOf(t, j.Encode())
	_, err = connect(t, dialer)
	if !errors.Is(err, ErrKey) || !strings.Contains(err.Error(), j.Addresses[0]) {
		t.Errorf("no address with the agent: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	for _, d := range directions() {
		a := agentOf(t, d, nil)
		text := a.Join().Encode()
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		_, dialer := ownerOf(t, text)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := dialer(ctx)
		cancel()
		want := "has not dialled " + a.Join().Addresses[0]
		if d == OwnerDials {
			want = "the agent at " + a.Join().Addresses[0]
		}
		if err == nil || Permanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", d.name(), err)
		}
	}
}

func TestAgentOptions(t *testing.T) {
	good := AgentOptions{Listen: "127.0.0.1:0", Expires: time.Hour, Idle: time.Minute}
	for want, change := range map[string]func(o *AgentOptions){
		"either listens or dials":     func(o *AgentOptions) { o.Listen = "" },
		"either listens or dials ":    func(o *AgentOptions) { o.Dial = "192.0.2.1:1" },
		"expires after 1m0s":          func(o *AgentOptions) { o.Expires = time.Second },
		"is idle for 10s":             func(o *AgentOptions) { o.Idle = 0 },
		"want a port":                 func(o *AgentOptions) { o.Listen, o.Dial = "", "192.0.2.1:0" },
		"nobody can dial it":          func(o *AgentOptions) { o.Addresses = []string{"0.0.0.0:7770"} },
		"a join string has at most 8": func(o *AgentOptions) { o.Addresses = make([]string, 9) },
		"missing port":                func(o *AgentOptions) { o.Listen = "127.0.0.1" },
	} {
		o := good
		change(&o)
		a, err := NewAgent(t.Context(), o)
		if err == nil {
			_ = a.Close()
		}
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	a, err := NewAgent(t.Context(), AgentOptions{Listen: "0.0.0.0:0", Addresses: []string{"gate.example:7770"},
		Expires: time.Hour, Idle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	if got := a.Join().Addresses; len(got) != 1 || got[0] != "gate.example:7770" {
		t.Errorf("addresses %q", got)
	}
}
