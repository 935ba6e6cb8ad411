package wire

import (
	"strings"
	"testing"
	"time"
)

// TestLoop: both sides run in assembly if both can and nobody asked for Go, and in Go otherwise.
func TestLoop(t *testing.T) {
	for _, c := range []struct {
		asked                string
		clientCan, serverCan bool
		want, wrong          string
	}{
		{"", true, true, LoopAssembly, ""},
		{"", true, false, LoopGo, ""},
		{"", false, true, LoopGo, ""},
		{"", false, false, LoopGo, ""},
		{LoopGo, true, true, LoopGo, ""},
		{LoopAssembly, true, true, LoopAssembly, ""},
		{LoopAssembly, true, false, "", "the server has only"},
		{LoopAssembly, false, true, "", "this build"},
	} {
		p := Params{Mode: ModeRR, Protocol: TCP, Request: 1, Response: 1, Connections: 1, Duration: time.Second,
			Loop: c.asked}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		setup := p
		setup.Loop = p.OfferLoop(c.clientCan)
		answer := setup.AnswerLoop(c.serverCan)
		agreed, err := p.AgreeLoop(setup.Loop, answer)
		if agreed != c.want || (err == nil) != (c.wrong == "") || err != nil &&
			!strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%+v: %q, %v", c, agreed, err)
		}
		if err == nil && (answer == LoopAssembly) != (agreed == LoopAssembly) {
			t.Errorf("%+v: the client runs %q, the server %q", c, agreed, answer)
		}
	}
	if _, err := (Params{}).AgreeLoop("", LoopAssembly); err == nil {
		t.Error("an answer that nobody offered is taken")
	}
}

func TestLoopValidates(t *testing.T) {
	good := Params{Mode: ModeRR, Protocol: TCP, Request: 64, Response: 64, Connections: 1, Duration: time.Second,
		Loop: LoopAssembly}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Params){
		"another":    func(p *Params) { p.Loop = "c" },
		"udp":        func(p *Params) { p.Protocol = UDP },
		"crr":        func(p *Params) { p.Mode = ModeCRR },
		"timestamps": func(p *Params) { p.Timestamps = true },
		"spinning":   func(p *Params) { p.Wait = WaitSpin },
	} {
		p := good
		change(&p)
		if p.Validate() == nil {
			t.Errorf("%s: the loop in assembly is promised", name)
		}
		if p.OfferLoop(true) == LoopAssembly && name != "another" {
			t.Errorf("%s: the loop in assembly is offered", name)
		}
	}
}
