//go:build !portable

package sys

// AssemblyLoop says whether package rr has its loop in assembly here.
const AssemblyLoop = true
