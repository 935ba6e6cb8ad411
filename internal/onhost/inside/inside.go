// Package inside watches what happens to the packets of a trial inside the kernel of this machine (docs/inside.md).
//
// Programs at the kernel's tracepoints follow one packet at a time: the request of a round trip, then its reply. They
// know it by the address of its buffer, which stays the same across bridges, routers, namespaces and tunnels, and by
// its headers where a machine or a wire makes a new buffer. What they see of a trip goes into a slot of its own in an
// array, which is read after the trial. Nothing runs beside the trial, and memory is bounded by the number of slots.
package inside
