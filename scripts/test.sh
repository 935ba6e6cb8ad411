#!/bin/sh
# Runs all tests, in phases, and prints how long each phase took:
#
#   vet        the code for other systems
#   others     packages that do not measure, beside each other
#   race       with the race detector, packages whose goroutines share data
#   measuring  packages that measure (scripts/measuring.txt), one after the other, with nothing beside them
#   portable   the engine's code for other systems, on this one, with the race detector
#              (docs/adr/0019-load-elsewhere.md)
#   fuzz       one step of a fuzz target: fuzzing instruments the code, and the hot loops, which may not grow their
#              stack, must still link
#
#   test.sh [PHASE...]    all of them by default
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh

go=${GO:-go}

vet() {
	# The linter includes vet for this system.
	GOOS=windows $go vet ./...
	GOOS=darwin $go vet ./...
	$go vet -tags portable ./internal/engine/...
}

others() {
	# Two packages for each CPU: some wait most of their time.
	packages=$(scripts/packages.sh others)
	$go test -p "$(($(getconf _NPROCESSORS_ONLN) * 2))" -count=1 -timeout 10m $packages
}

race() {
	# Else each program of a test waits a second before it ends.
	export GORACE=atexit_sleep_ms=0
	# The live view, beside the packages: both wait most of their time.
	CGO_ENABLED=1 $go test -race -short -count=1 -timeout 10m -run 'Live|CtrlC|CtrlZ|SIGTERM|Halted|Interrupt' \
		./internal/cli &
	live=$!
	CGO_ENABLED=1 $go test -race -short -count=1 -timeout 10m ./internal/serve ./internal/runner ./internal/rundir \
		./internal/history ./internal/host/fake ./internal/host/lab ./internal/host/local ./internal/agent/... \
		./internal/agentcli || failed=$?
	wait $live
	return ${failed:-0}
}

measuring() {
	packages=$(scripts/packages.sh measuring)
	$go test -p 1 -count=1 -timeout 20m $packages
}

portable() {
	# Hot loops outside the scheduler and allocations cannot be tested with the race detector.
	CGO_ENABLED=1 $go test -race -tags portable -count=1 -timeout 10m -run 'Load|Sweep|Datagram|Stranger|Leave' \
		-skip 'Allocate|Memory' ./internal/engine/...
}

fuzz() {
	$go test -run '^$' -fuzz '^FuzzStamps$' -fuzztime 1x ./internal/engine/rr
}

for phase in ${*:-vet others race measuring portable fuzz}; do
	case $phase in
	vet | others | race | measuring | portable | fuzz) ;;
	*)
		echo "test.sh: there is no phase $phase" >&2
		exit 2
		;;
	esac
	started=$(date +%s)
	echo "== $phase"
	$phase
	echo "== $phase took $(($(date +%s) - started)) s"
done
