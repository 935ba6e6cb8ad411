#!/bin/sh
# Builds Go programs that no distribution has, in the versions that the go.mod of a folder of internal/kits pins, and
# prints the folder of the programs, in the user's cache. There is one for each content of go.mod and go.sum. The first
# call takes a minute; later calls build nothing.
#
#   go-programs.sh fortio    fortio, which nearfar runs
#   go-programs.sh quic      quic-go's `client`, and its server `example`, which the documentation measures
set -eu
cd "$(dirname "$0")/../internal/kits/$1"

go=${GO:-go}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test
folder=$cache/$1-$(cat go.mod go.sum | sha256sum | cut -c 1-16)
if [ ! -e "$folder" ]; then
	echo "go-programs: building $1 into $folder" >&2
	# Renamed into place: an interrupted build leaves nothing that looks complete.
	made=$folder.$$
	trap 'rm -rf "$made"' EXIT
	mkdir -p "$made"
	# Without -trimpath: quic-go's programs read their certificates from the folder of their source.
	trim=-trimpath
	[ "$1" != quic ] || trim=
	packages=$(GOFLAGS='' $go list tool)
	CGO_ENABLED=0 GOFLAGS='' $go build $trim -gcflags=all=-dwarf=false -ldflags "-s -w" -o "$made/" $packages
	mv -T "$made" "$folder" 2>/dev/null || [ -e "$folder" ]
fi
echo "$folder"
