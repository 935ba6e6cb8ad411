// Package cloud is the wing of providers of machines. It has no code of its own; its packages are the folders below it.
//
// It makes machines with the user's own OpenTofu, scripts or AWS CDK (provision), asks before that what a provider
// would refuse (preflight), asks where machines were placed (provider), asks after the deletion what is left (audit),
// and moves a cluster's workloads to another pool of nodes (pool). cloudtool runs az, aws and gcloud for all of them.
//
// It must not know how machines are reached, what is measured on them, or what follows from it. It has no credentials:
// providers are asked by the user's own programs, with what these know.
//
// What is made costs money until it is deleted. So every package here finds its machines again after a crash, by tags
// and by files that are written before a step begins, and says what it could not delete. Lists, sizes, names and
// retirements have their sources beside them.
//
// It imports declare and base, and of onhost the Host interface and what this machine is.
package cloud
