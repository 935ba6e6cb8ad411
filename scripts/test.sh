#!/bin/sh
# Runs parts of the tests, and prints how long each took:
#
#   lint       the linter
#   vet        the code for other systems
#   fuzz       one step of a fuzz target: fuzzing instruments the code, and the hot loops, which may not grow their
#              stack, must still link
#   others     packages that do not measure
#   clusters   the end-to-end tests that judge no figures (scripts/unjudged.sh) and start a Kubernetes cluster
#   rest       the other end-to-end tests that judge no figures, and such tests of the engine
#   engine     the packages of the engine, and of the watch inside the kernel, whose tests take seconds, with nothing
#              beside them
#   long       the tests of scripts/long.txt that judge no figures; no other part has them
#   race       with the race detector, packages whose goroutines share data
#   portable   the engine's code for other systems, on this one, with the race detector
#              (docs/adr/0019-load-elsewhere.md)
#   measuring  the tests of the engine, of the watch inside the kernel, and end to end that judge figures, one after the
#              other, with nothing beside them
#
#   test.sh              what make test runs: lint, vet, fuzz, others, clusters, rest and engine
#   test.sh tests        the same without the linter
#   test.sh all          all parts: what make test-all runs
#   test.sh PART...      these parts, one after the other
#
# In a run of many parts, others, which computes, runs beside clusters, which nearly always waits, and then beside rest,
# which waits half of its time. Lint, vet and fuzz compute beside them.
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh
# Tests that run make must not talk to the make that runs the tests.
unset MAKEFLAGS MFLAGS MAKELEVEL

go=${GO:-go}
# The test of internal/onhost/inside that judges figures: what share of slow trips have the cause that was planted.
causes='^TestCauses$'

lint() {
	scripts/lint.sh
}

vet() {
	# The linter includes vet for this system. The others are systems of scripts/dist.sh, so that TestDist finds most of
	# what it compiles in the build cache.
	GOOS=windows $go vet ./... &&
		GOOS=darwin GOARCH=arm64 $go vet ./... &&
		$go vet -tags portable ./internal/onhost/engine/...
}

others() {
	# Five packages for two CPUs: some wait most of their time. The linter includes vet.
	packages=$(scripts/packages.sh others) && long=$(scripts/long.sh tests) &&
		$go test -vet=off -p "$(($(getconf _NPROCESSORS_ONLN) * 5 / 2))" -count=1 -timeout 20m -skip "$long" $packages
}

long() {
	packages=$(scripts/long.sh packages) && long=$(scripts/long.sh tests) &&
		endtoend=$(scripts/long.sh tests internal/e2e) &&
		$go test -vet=off -p "$(($(getconf _NPROCESSORS_ONLN) * 2))" -count=1 -timeout 20m -run "$long" $packages &&
		$go test -vet=off -parallel "$(getconf _NPROCESSORS_ONLN)" -count=1 -timeout 25m -run "$endtoend" ./internal/e2e
}

clusters() {
	# Two tests at a time: each makes several runs at once in its cluster.
	tests=$(scripts/unjudged.sh clusters) && long=$(scripts/long.sh tests) &&
		$go test -vet=off -parallel 2 -count=1 -timeout 25m -run "$tests" -skip "$long" ./internal/e2e
}

rest() {
	# Three tests for each CPU: many wait.
	tests=$(scripts/unjudged.sh rest) && long=$(scripts/long.sh tests) &&
		$go test -vet=off -p 1 -parallel "$(($(getconf _NPROCESSORS_ONLN) * 3))" -count=1 -timeout 20m -run "$tests" \
			-skip "$long" ./internal/onhost/engine ./internal/e2e
}

race() {
	# Else each program of a test waits a second before it ends.
	export GORACE=atexit_sleep_ms=0
	# The live view at the same time as the packages: both wait most of their time. The two skipped tests only draw, for
	# long, in one goroutine.
	CGO_ENABLED=1 $go test -race -short -vet=off -count=1 -timeout 10m -run 'Live|CtrlC|CtrlZ|SIGTERM|Halted|Interrupt' \
		-skip 'LiveFitsEveryTerminal|LiveIsHarmless' ./internal/cli &
	live=$!
	# The skipped test's two threads share no lock. The race detector's own locks, which each atomic operation takes, are
	# shared by all threads.
	CGO_ENABLED=1 $go test -race -short -vet=off -count=1 -timeout 10m -skip '^TestAwakeHoldsNothingUp$' \
		./internal/hosts/lab ./internal/hosts/local ./internal/onhost/agentcli ./internal/onhost/agent \
		./internal/onhost/agent/allow ./internal/onhost/agent/binaries ./internal/onhost/agent/daemon \
		./internal/measure/runner ./internal/show/serve ./internal/conclude/history \
		./internal/declare/rundir ./internal/hosts/fake || unsafe=$?
	wait $live && return "${unsafe:-0}"
}

engine() {
	packages=$(scripts/packages.sh engine) &&
		$go test -vet=off -p 1 -count=1 -timeout 10m -skip "$causes" $packages
}

measuring() {
	tests=$(scripts/unjudged.sh) &&
		$go test -vet=off -p 1 -count=1 -timeout 20m -skip "$tests" ./internal/onhost/engine ./internal/e2e &&
		$go test -vet=off -count=1 -timeout 10m -run "$causes" ./internal/onhost/inside
}

portable() {
	# Hot loops outside the scheduler and allocations cannot be tested with the race detector.
	CGO_ENABLED=1 $go test -race -vet=off -tags portable -count=1 -timeout 10m -run 'Load|Sweep|Datagram|Stranger|Leave' \
		-skip 'Allocate|Memory' ./internal/onhost/engine/...
}

fuzz() {
	$go test -run '^$' -fuzz '^FuzzStamps$' -fuzztime 1x ./internal/onhost/engine/rr
}

# timed runs a part, and prints how long it took and how much CPU time. A part that takes less than all CPUs waits.
timed() {
	started=$(date +%s)
	times >"$before" # not in a subshell, which has no children
	echo "== $1"
	result=0
	$1 || result=$?
	times >"$after"
	echo "== $1 took $(($(date +%s) - started)) s, and $(cat "$before" "$after" | used) s of CPU time"
	return "$result"
}

# used reads what `times` printed before and after, and prints the difference of the children's CPU time in seconds.
used() {
	awk -F '[ms ]+' '
		{ cpu = $1 * 60 + $2 + $3 * 60 + $4 }
		NR == 2 { before = cpu }
		NR == 4 { printf "%d", cpu - before }'
}

# run runs parts, one after the other, until one fails.
run() {
	for part; do
		case $part in
		lint | vet | fuzz | others | clusters | rest | engine | long | race | portable | measuring)
			timed "$part" || return
			;;
		*)
			echo "test.sh: there is no part $part" >&2
			exit 2
			;;
		esac
	done
}

# together runs what make test runs, with the given parts beside the tests. They have the lowest priority, so that they
# take only CPU time that the tests leave. What they print comes after what the tests print.
together() {
	# The kernel may share CPU time between sessions before it looks at the priority of processes (autogroups in
	# sched(7)). So the parts have a session of their own, whose priority is the lowest too.
	setsid sh -c 'echo 19 2>/dev/null >/proc/self/autogroup; exec nice -n 19 scripts/test.sh "$@"' sh "$@" \
		>"$beside" 2>&1 &
	pid=$!
	failed=0
	# xargs, because a command that the shell starts in the background ignores SIGINT, and its tests would too.
	printf '%s\n' others 'clusters rest' | xargs -L 1 -P 2 scripts/test.sh || failed=$?
	# Nothing of ours runs beside them now, and on a busy machine the lowest priority gets nearly nothing. Only root may
	# raise it.
	if renice 0 -g "$pid" >/dev/null 2>&1; then
		echo 0 2>/dev/null >"/proc/$pid/autogroup" || true
	fi
	wait "$pid" || failed=$?
	pid=
	cat "$beside"
	[ "$failed" = 0 ] || exit "$failed"
	run engine
}

before=$(mktemp) after=$(mktemp) beside=$(mktemp)
pid=
trap 'rm -f "$before" "$after" "$beside"; [ -z "$pid" ] || kill -- "-$pid"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

case $* in
'') together lint vet fuzz ;;
tests) together vet fuzz ;;
all)
	together lint vet fuzz
	run long race portable measuring
	;;
*) run "$@" ;;
esac
