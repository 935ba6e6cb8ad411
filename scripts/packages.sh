#!/bin/sh
# Lists the packages whose tests measure (scripts/measuring.txt), or all others. Of the others, those of
# scripts/longest.txt come first, because go test starts packages in the order of its arguments.
#
#   packages.sh measuring
#   packages.sh engine     those of them whose tests take seconds, of the engine and of the watch inside the kernel
#   packages.sh others
#
# Fails if scripts/measuring.txt names a package, or a pattern, that does not exist, or scripts/longest.txt a package.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
measuring=
for pattern in $(grep -v '^#' scripts/measuring.txt); do
	# go list fails for a package that does not exist, and prints nothing for a pattern that matches none.
	found=$($go list "./$pattern")
	if [ -z "$found" ]; then
		echo "packages: scripts/measuring.txt names $pattern, which does not exist" >&2
		exit 1
	fi
	measuring="$measuring$found
"
done
measuring=${measuring%?}
case ${1:-} in
measuring) echo "$measuring" ;;
engine) echo "$measuring" | grep -e '/engine/' -e '/onhost/inside$' ;;
others)
	# Without patterns, go list keeps the order.
	longest=$($go list $(grep -v '^#' scripts/longest.txt | sed 's,^,./,'))
	echo "$longest"
	$go list ./... | grep -Fxv "$measuring
$longest"
	;;
*)
	echo "usage: packages.sh measuring|engine|others" >&2
	exit 2
	;;
esac
