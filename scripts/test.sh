#!/bin/sh
# Runs all tests: first with the race detector where goroutines share data, then everything as users get it.
# -p 1: tests that measure must not share the machine's few cores with other packages' tests.
set -eu

CGO_ENABLED=1 go test -race -count=1 -timeout 10m ./internal/serve ./internal/runner ./internal/rundir ./internal/host/fake
go test -p 1 -count=1 -timeout 40m ./...
# The engine's code for other systems, on this one (docs/adr/0019-load-elsewhere.md).
go vet -tags portable ./internal/engine
go test -tags portable -count=1 -timeout 10m -run 'Load|Sweep|Datagram|Stranger|Leave' ./internal/engine
# Fuzzing instruments the code, and the hot loops, which may not grow their stack, must still link.
go test -run '^$' -fuzz '^FuzzGreeting$' -fuzztime 1x ./internal/engine
