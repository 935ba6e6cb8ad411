//go:build !linux

package capture

import "nearfar/internal/declare/packets"

// A FlowWatch is not possible on this system.
type FlowWatch struct{ LeftOut int }

// BeginFlow fails on this system.
func BeginFlow(Flow, []packets.Place) (*FlowWatch, error) { return nil, unsupported() }

// End is never called.
func (*FlowWatch) End() ([]Point, error) { return nil, unsupported() }

// Close is never called.
func (*FlowWatch) Close() {}
