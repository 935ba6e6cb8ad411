#!/bin/sh
# Reads scripts/long.txt: the tests that only `make test-all` runs.
#
#   long.sh tests            a pattern for `go test -run` or -skip
#   long.sh tests PACKAGE    a pattern for those of one package
#   long.sh packages         their packages, without internal/e2e
#
# Fails if a package does not have its test. Fails if another package has a test of the same name, because it would be
# skipped too; and if a test of internal/e2e judges figures, because scripts/test.sh measuring runs it too.
set -eu
cd "$(dirname "$0")/.."

list=$(grep -v '^#' scripts/long.txt | sed -n 's/^\([^ ]*\) \([A-Za-z0-9_]*\): ..*/\1 \2/p' | sort)
if [ "$(echo "$list" | wc -l)" -ne "$(grep -v '^#' scripts/long.txt | grep -c .)" ]; then
	echo "long: scripts/long.txt: a line is PACKAGE TEST: REASON" >&2
	exit 1
fi
names=$(echo "$list" | cut -d ' ' -f 2 | paste -sd '|' -)
found=$(grep -rE "^func ($names)\(t " --include='*_test.go' . |
	sed 's,^\./\(.*\)/[^/]*:func \([A-Za-z0-9_]*\)(.*,\1 \2,' | sort)
if [ "$list" != "$found" ]; then
	echo "long: scripts/long.txt and the tests of these names differ:" >&2
	printf '%s\n%s\n' "$list" "$found" | sort | uniq -u >&2
	exit 1
fi
unjudged=$(scripts/unjudged.sh)
for name in $(echo "$list" | sed -n 's,^internal/e2e ,,p'); do
	if ! echo "$name" | grep -qE "$unjudged"; then
		echo "long: $name of internal/e2e judges figures" >&2
		exit 1
	fi
done

case ${1:-} in
tests) echo "^($(echo "$list" | sed -n "s,^${2:-[^ ]*} ,,p" | paste -sd '|' -))\$" ;;
packages) echo "$list" | sed 's,^\([^ ]*\) .*,./\1,' | sort -u | grep -vx ./internal/e2e ;;
*)
	echo "usage: long.sh tests [PACKAGE]|packages" >&2
	exit 2
	;;
esac
