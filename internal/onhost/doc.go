// Package onhost is the wing of what runs on measured machines. It has no code of its own; its packages are the folders
// below it.
//
// It knows one machine and what is started there: the Host interface (host), the agent with its protocol, its program
// and its connection by TLS (agent), process trees and their output (supervise, children), the machine's CPUs and what
// else uses them (machine), its ports (listening, reach), packets of a device (capture), fewer rights for measuring
// programs (confine), and the native engine (engine). hostverbs and agentcli are the verbs of the program on a host,
// cmd/nearfar-agent.
//
// It must not know a kind of host, a tool, a run or an answer, and no cloud and no Kubernetes: what is here is copied
// to other machines, and must stay small. cmd/nearfar-agent has a test of its size and of all that it imports.
//
// What arrives from outside is hostile here: from the network, from the owner of an agent, from a program that is
// measured. docs/security.md has the rules. In the engine, the hot paths allocate nothing and take no lock; its
// packages have an order of their own, which the linter keeps.
//
// It imports declare and base. The host interface stands here, because the agent is one, and because what is started on
// a host is described by the same types on both sides.
package onhost
