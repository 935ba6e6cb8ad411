// Package hosts is the wing of the kinds of hosts. It has no code of its own; its packages are the folders below it.
//
// Each kind implements the interfaces of onhost/host for one way to reach a machine: network namespaces on this machine
// (lab), this machine itself (local), ssh (ssh), pods of Kubernetes (kube). fake is a host of tests. hosttest is the
// conformance suite that every kind passes. image makes the container image of the agent, from which pods start.
//
// Machines that nothing can log in to have no kind here: their agent listens or dials by itself, and onhost/agent/tls
// is the connection to it.
//
// A kind must not know another kind, a tool, a run or an answer. It brings the bytes of the agent's protocol, or starts
// processes itself as lab does; what a process may do and what is observed of it is in onhost. Only measure/deploy
// knows all kinds, and makes the hosts of an experiment with them.
//
// A new kind of host is one folder here, a test that runs hosttest.Run, a key in the experiment file, and a case in
// measure/deploy.
//
// It imports onhost, declare and base.
package hosts
