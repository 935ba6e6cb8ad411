// Package kits is the wing of what only tests use. It has no code of its own; its packages are the folders below it.
//
// Real components, made small enough for a test: a cluster of Kubernetes (kubetest), OpenTofu with the schemas of
// real providers (tofutest), machines with systemd and cloud-init (boottest), programs for Windows under Wine
// (winetest), readers of nearfar's files that share no code with it (pythontest). Services that no test can have, as
// strict as the real ones, each rule with its source: Azure's Resource Manager (azuretest), Google's Compute Engine
// (googletest), and AWS by moto (cloudtest). simulate draws runs from worlds of known truth. moduleroot finds the
// project's folder, and hostprogram checks the programs that are copied to hosts.
//
// A kit must not know what a test wants to see: it stands for the world, and the test judges. A stand-in that agrees
// with its author proves nothing, so a rule of a service is here only with the document, schema or recording that has
// it.
//
// It may import all other wings. Only tests import it, and the linter denies it to everything else.
package kits
