package wire

import "fmt"

// The loops that carry out the transactions of rr over TCP. Both sides of a session run the same one.
const (
	// LoopGo is in Go. Every build has it, and it is the only loop of the other modes.
	LoopGo = "go"
	// LoopAssembly is in assembly, for Linux on amd64.
	LoopAssembly = "assembly"
)

// hasAssembly says whether sessions with these parameters have a loop in assembly: rr over TCP that blocks in the
// kernel, without timestamps.
func (p Params) hasAssembly() bool {
	return p.Mode == ModeRR && p.Protocol == TCP && !p.Timestamps && p.WaitOrDefault() == WaitBlock
}

// validateLoop refuses a loop that the session cannot run in.
func (p Params) validateLoop() error {
	switch {
	case p.Loop != "" && p.Loop != LoopGo && p.Loop != LoopAssembly:
		return fmt.Errorf("loop %q: the engine has %s and %s", p.Loop, LoopGo, LoopAssembly)
	case p.Loop == LoopAssembly && !p.hasAssembly():
		return fmt.Errorf("loop %s: only %s over %s has it, with wait %s and without timestamps",
			LoopAssembly, ModeRR, TCP, WaitBlock)
	}
	return nil
}

// OfferLoop is the loop that a client names in the setup: LoopAssembly if it can run that loop and Go's was not asked
// for, or nothing.
func (p Params) OfferLoop(can bool) string {
	if can && p.Loop != LoopGo && p.hasAssembly() {
		return LoopAssembly
	}
	return ""
}

// AnswerLoop is the loop that a server answers with, and that it runs: LoopAssembly if the client offers it and the
// server can run it, or nothing for LoopGo.
func (p Params) AnswerLoop(can bool) string {
	if can && p.Loop == LoopAssembly {
		return LoopAssembly
	}
	return ""
}

// AgreeLoop is the loop that a client runs after the server's answer to its offer. It fails if the answer does not
// fit the offer, or if the loop that was asked for is not possible.
func (p Params) AgreeLoop(offer, answer string) (string, error) {
	switch {
	case answer != "" && answer != offer:
		return "", fmt.Errorf("the server answers with the loop %q", Printable(answer))
	case answer == LoopAssembly:
		return LoopAssembly, nil
	case p.Loop == LoopAssembly && offer == "":
		return "", fmt.Errorf("loop %s: this build, or this machine's clock, has only the loop in Go", LoopAssembly)
	case p.Loop == LoopAssembly:
		return "", fmt.Errorf("loop %s: the server has only the loop in Go", LoopAssembly)
	}
	return LoopGo, nil
}
