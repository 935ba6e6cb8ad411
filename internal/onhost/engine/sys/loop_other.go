//go:build portable || !(linux && amd64)

package sys

// AssemblyLoop says whether package rr has its loop in assembly here.
const AssemblyLoop = false
