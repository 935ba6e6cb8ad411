//go:build !linux

package capture

import (
	"fmt"
	"runtime"

	"nearfar/internal/declare/packets"
)

// A FlowWatch is not possible on this system.
type FlowWatch struct{ LeftOut int }

// BeginFlow fails on this system.
func BeginFlow(Flow, []packets.Place) (*FlowWatch, error) {
	return nil, fmt.Errorf("packets are captured on Linux alone, not on %s", runtime.GOOS)
}

// End is never called.
func (*FlowWatch) End() ([]Point, error) { return nil, unsupported() }

// Close is never called.
func (*FlowWatch) Close() {}
