#!/bin/sh
# Lists the packages whose tests measure (scripts/measuring.txt), or all others.
#
#   packages.sh measuring
#   packages.sh others
#
# Fails if scripts/measuring.txt names a package that does not exist.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
measuring=$($go list $(sed -n 's|^[^#]|./&|p' scripts/measuring.txt))
case ${1:-} in
measuring) echo "$measuring" ;;
others) $go list ./... | grep -Fxv "$measuring" ;;
*)
	echo "usage: packages.sh measuring|others" >&2
	exit 2
	;;
esac
