package result

// Brief removes what no answer is made from, so that a run of many trials fits into memory: the command lines, the
// names of the outputs, most facts, the packets, and counters in which no limiter acted.
func (t *Trial) Brief() {
	t.Commands, t.Raw, t.Wire = nil, nil, nil
	var kept map[string]string
	for name, value := range t.Facts {
		if InAnswer(name) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[name] = value
		}
	}
	t.Facts = kept
	t.BriefCounters()
}

// BriefCounters removes counters in which no limiter acted.
func (t *Trial) BriefCounters() {
	if c := t.Counters; c != nil && len(c.Client.Limits())+len(c.Server.Limits()) == 0 {
		t.Counters = nil
	}
}

// InAnswer says whether answers and comparisons read the trials' fact of this name. A test finds facts that they read
// and that are missing here.
func InAnswer(name string) bool {
	switch name {
	case FactSetting, FactWaited, FactOthers, FactMachineOthers, FactStolen,
		FactWireLatenessP50, FactWireLatenessP99, FactCoreToCoreBefore, FactCoreToCoreAfter,
		"wait", "server.wait", "schedule", "placement", "io", "loop", "server.loop", "clock", "server.clock",
		"client.pod", "server.pod", "client.node", "server.node":
		return true
	}
	return false
}
