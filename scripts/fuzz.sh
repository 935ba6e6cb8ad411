#!/bin/sh
# Runs every fuzz target for the given time, one after the other, and stops at the first that fails.
#
#   fuzz.sh 30s
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh

go=${GO:-go}
time=${1:-30s}
for package in $($go list ./...); do
	for target in $($go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target $time"
		$go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done
done
