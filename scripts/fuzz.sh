#!/bin/sh
# Runs every fuzz target for the given time each, one after the other, and stops at the first that fails.
#
#   fuzz.sh 30s
set -eu

time=${1:-30s}
for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $target $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
	done
done
