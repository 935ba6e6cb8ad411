#!/bin/sh
# Builds fortio in the version that internal/kits/fortio/go.mod pins, and prints the folder of the program, in the user's
# cache. The first call takes a minute; later calls build nothing.
set -eu
cd "$(dirname "$0")/../internal/kits/fortio"

go=${GO:-go}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test
folder=$cache/fortio-$(cat go.mod go.sum | sha256sum | cut -c 1-16)
if [ ! -e "$folder" ]; then
	echo "fortio: building it into $folder" >&2
	# Renamed into place: an interrupted build leaves nothing that looks complete.
	made=$folder.$$
	trap 'rm -rf "$made"' EXIT
	mkdir -p "$made"
	CGO_ENABLED=0 GOFLAGS='' $go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w" -o "$made/fortio" \
		fortio.org/fortio
	mv -T "$made" "$folder" 2>/dev/null || [ -e "$folder" ]
fi
echo "$folder"
