package cli

import "nearfar/internal/tool"

// newTools lists the measuring programs that nearfar can run; secret is what the two ends of the native engine share.
func newTools(secret string) *tool.Registry {
	return tool.New(append([]tool.Tool{tool.NewNative(secret)}, tool.Foreign()...)...)
}
