package tool

// Registry holds the tools that can be run, in the order in which they were given.
type Registry struct{ tools []Tool }

// New makes a registry of the tools.
func New(tools ...Tool) *Registry { return &Registry{tools: tools} }

// Foreign gives the tools that other projects make and that nearfar can run.
func Foreign() []Tool {
	return []Tool{NewSockperf(), NewNetperf(), NewIperf3(), NewPing()}
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
