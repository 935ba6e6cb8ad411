package tool

import (
	"fmt"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// A program is what a tool's file says about the tool: the one place to add it to nearfar is the list of programs.
type program struct {
	declared experiment.Tool
	// run is nil for a tool that nearfar only reads, and for native, which needs a secret (see NewNative).
	run Tool
	// mark recognises the lines of its outputs, and parse reads the text of one run.
	mark  func(line string) mark
	parse func(text string) (result.Measurement, error)
}

// programs lists all tools, in the order in which they are asked whether a line of a recording is theirs.
func programs() []program {
	return []program{
		sockperfProgram(), netperfProgram(), iperf3Program(), pingProgram(), qperfProgram(), ntttcpProgram(),
		latteProgram(), nativeProgram(),
	}
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

// check says what a tool cannot do of what a workload asks. All limits are in what the tool declares.
func check(t experiment.Tool, w experiment.Workload) error {
	if err := t.Check(w); err != nil {
		return fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return nil
}

// Registry holds the tools that can be run, in the order in which they were given.
type Registry struct{ tools []Tool }

// New makes a registry of the tools.
func New(tools ...Tool) *Registry { return &Registry{tools: tools} }

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
