#!/bin/sh
# Builds the programs that make packages and bills of materials (nfpm, cyclonedx-gomod), in the versions that
# release/tools/go.mod pins, and prints their folder. There is one folder for each content of go.mod and go.sum, in the
# user's cache. The first call takes minutes; later calls build nothing.
set -eu
cd "$(dirname "$0")/../release/tools"

go=${GO:-go}
folder=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/release-$(cat go.mod go.sum | sha256sum | cut -c 1-16)
if [ ! -e "$folder" ]; then
	echo "release-tools: building nfpm and cyclonedx-gomod into $folder" >&2
	made=$folder.$$
	trap 'rm -rf "$made"' EXIT
	mkdir -p "$made"
	packages=$(GOFLAGS= $go list tool)
	CGO_ENABLED=0 GOFLAGS= $go build -trimpath -o "$made/" $packages
	# Renamed into place: an interrupted build leaves nothing that looks complete. Another build may have been faster.
	mv -T "$made" "$folder" 2>/dev/null || [ -e "$folder" ]
fi
echo "$folder"
