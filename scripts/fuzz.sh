#!/bin/sh
# Runs every fuzz target for the given time, one after the other, and stops at the first that fails. It states the
# executions of each. A target with fewer than LEAST executions does not test anything, and fails too.
#
#   fuzz.sh 30s [PACKAGE...]
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh

go=${GO:-go}
time=${1:-30s}
[ $# -eq 0 ] || shift
least=${LEAST:-100}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# An input that reaches new code is made smaller for a minute by default, and for that time nothing else is tried. Large
# inputs, such as a tool's output, then leave a target a few executions a minute.
minimize=20x
[ $# -gt 0 ] || set -- $($go list ./...)

# late says that the target failed for no other reason than that its time was over: the coordinator of fuzzing can take
# the end of the time for an error (golang/go#75804). An input that fails is written to a file, which it names.
late() {
	grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log"
}

for package; do
	for target in $($go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		if ! $go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime "$minimize" "$package" \
			>"$log" 2>&1 && ! late; then
			cat "$log"
			echo "== $package $target: failed" >&2
			exit 1
		fi
		executions=$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' "$log" | tail -1)
		echo "== $package $target $time: ${executions:-0} executions"
		if [ "${executions:-0}" -lt "$least" ]; then
			cat "$log"
			echo "== $package $target: fewer than $least executions in $time" >&2
			exit 1
		fi
	done
done
