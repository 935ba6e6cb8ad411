package cli

import "nearfar/internal/tool"

// toolSet is the measuring programs that nearfar can run.
type toolSet []tool.Tool

// newTools lists them; secret is what the two ends of the native engine share.
func newTools(secret string) toolSet {
	return toolSet{tool.NewNative(secret)}
}

// Lookup finds a program by the name that an experiment gives it.
func (s toolSet) Lookup(name string) (tool.Tool, bool) {
	for _, t := range s {
		if t.Name() == name {
			return t, true
		}
	}
	return nil, false
}
