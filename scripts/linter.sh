#!/bin/sh
# Prints the path of golangci-lint, in the version that tools/go.mod pins. It is in the user's cache, one for each
# version of it and of Go. The first call builds it, which takes minutes; a new clone of the project does not build it
# again.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
version=$({ cat tools/go.mod tools/go.sum; $go env GOVERSION; } | sha256sum | cut -c 1-16)
linter=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/golangci-lint-$version
if [ ! -x "$linter" ]; then
	echo "linter: building golangci-lint into $(dirname "$linter")" >&2
	mkdir -p "$(dirname "$linter")"
	# Renamed into place: an interrupted build leaves nothing that looks complete.
	CGO_ENABLED=0 GOFLAGS= $go build -trimpath -modfile=tools/go.mod -o "$linter.$$" \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	mv "$linter.$$" "$linter"
fi
echo "$linter"
