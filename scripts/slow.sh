#!/bin/sh
# Reads scripts/slow.txt:
#
#   slow.sh tests      prints a pattern for `go test -skip` of its tests
#   slow.sh packages   prints its packages that did not change
#
# Fails if a package does not have its test, or does not exist.
set -eu
cd "$(dirname "$0")/.."

list=$(grep -v '^#' scripts/slow.txt)
case ${1:-} in
tests)
	list=$(echo "$list" | grep ' ')
	echo "$list" | while read -r package name; do
		if ! grep -qE "^func $name\(t " "$package"/*_test.go; then
			echo "slow: scripts/slow.txt: $package has no $name" >&2
			exit 1
		fi
	done
	echo "^($(echo "$list" | cut -d ' ' -f 2 | sort -u | paste -sd '|' -))\$"
	;;
packages)
	changed=$(scripts/changed.sh)
	${GO:-go} list $(echo "$list" | grep -v ' ' | sed 's#^#./#' | grep -Fxv "$changed")
	;;
*)
	echo "usage: slow.sh tests|packages" >&2
	exit 2
	;;
esac
