package engine

import _ "unsafe" // for go:linkname

// nanotime is the runtime's monotonic clock in nanoseconds: one vDSO call. time.Since reads the same clock, but has a
// stack check at its start where the scheduler may step in; this has none, so a hot loop that calls it runs undisturbed.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
