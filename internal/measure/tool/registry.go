package tool

import (
	"fmt"
	"net/netip"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// A program is what a tool's file says about the tool. A tool is added to nearfar in the list of programs alone.
type program struct {
	declared experiment.Tool
	// run is nil for a tool that nearfar only reads, and for native, http and app, which need a secret.
	run Tool
	// install says on which systems the tool runs, and where its programs come from.
	install installation
	// mark recognises the lines of its outputs, and parse reads the text of one run. Without mark its outputs are read if
	// the tool is named; those of http and app are the engine's.
	mark  func(line string) mark
	parse func(text string) (result.Measurement, error)
	// parseAll takes the place of parse for a tool whose texts hold several runs below one header.
	parseAll func(text string) []foundRun
	// documents reads the JSON documents of a tool that is only imported; nil for one that prints none.
	documents func() documentReader
}

// programs lists all tools, in the order in which they are asked whether a line of a recording is theirs.
func programs() []program {
	return append([]program{
		sockperfProgram(), netperfProgram(), iperf3Program(), pingProgram(), qperfProgram(), ntttcpProgram(),
		latteProgram(), commandProgram(), fortioProgram(), wrkProgram(), pgbenchProgram(), nativeProgram(),
		httpProgram(), appProgram(),
	}, importedPrograms()...)
}

// Declared gives what every tool declares about itself, native first, for the reader of experiment files and for all
// that lists tools.
func Declared() experiment.Tools {
	declared := experiment.Tools{nativeProgram().declared}
	for _, p := range programs() {
		if p.declared.Name == nativeName {
			continue
		}
		if p.run != nil {
			p.declared.Programs = p.run.Probe().Programs
		}
		declared = append(declared, p.declared)
	}
	return declared
}

// known is what nearfar knows of a tool on every host.
type known struct {
	name  string
	probe Probe
}

// Name is what an experiment file calls the tool.
func (k known) Name() string { return k.name }

// Probe says how to find the tool and its version.
func (k known) Probe() Probe { return k.probe }

// addressesFor says which address the server of a tool binds and which one the client dials, of the workload's version
// of IP. An error says which part of the workload the tool cannot do, by the limits of its declaration, or which host
// has a system on which nearfar does not run the tool.
func addressesFor(p program, w experiment.Workload, pair host.Pair) (bind, dial netip.Addr, err error) {
	if err := p.declared.Check(w); err != nil {
		return bind, dial, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	if err := p.runsOn(w, pair); err != nil {
		return bind, dial, err
	}
	if bind, dial, err = pair.Addresses(w.IP); err != nil {
		return bind, dial, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return bind, dial, nil
}

// Registry holds the tools that can be run, in the order in which they were given.
type Registry struct{ tools []Tool }

// New makes a registry of the tools.
func New(tools ...Tool) *Registry { return &Registry{tools: tools} }

// All makes a registry of every tool that nearfar can run. The two ends of the native engine share the secret.
func All(secret string) *Registry {
	return New(append(append([]Tool{NewNative(secret)}, Foreign()...), NewHTTP(secret), NewApp(secret))...)
}

// Foreign gives the tools that other projects make and that nearfar can run.
func Foreign() []Tool {
	var tools []Tool
	for _, p := range programs() {
		if p.run != nil {
			tools = append(tools, p.run)
		}
	}
	return tools
}

// Lookup finds a tool by the name that an experiment file calls it.
func (r *Registry) Lookup(name string) (Tool, bool) {
	for _, t := range r.tools {
		if t.Name() == name {
			return t, true
		}
	}
	return nil, false
}

// Names lists the tools.
func (r *Registry) Names() []string {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.Name()
	}
	return names
}
