#!/bin/sh
# Prints a pattern for `go test -skip` of the tests of scripts/slow.txt, which `make quick` leaves out. Fails if a package
# does not have its test.
set -eu
cd "$(dirname "$0")/.."

list=$(grep -v '^#' scripts/slow.txt)
echo "$list" | while read -r package name; do
	if ! grep -qE "^func $name\(t " "$package"/*_test.go; then
		echo "slow: scripts/slow.txt: $package has no $name" >&2
		exit 1
	fi
done
echo "^($(echo "$list" | cut -d ' ' -f 2 | sort -u | paste -sd '|' -))\$"
