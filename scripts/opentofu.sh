#!/bin/sh
# Builds OpenTofu and the provider of the tests (internal/kits/tofutest), in the versions that their go.mod pin, and
# prints their two folders. There is one folder for each content of a module, in the user's cache. The first call
# takes 4 to 15 minutes; later calls build nothing.
set -eu
cd "$(dirname "$0")/../internal/kits/tofutest"

go=${GO:-go}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test

# build MODULE FOLDER FILE FLAGS PACKAGE builds a program of a module as FILE below FOLDER, unless FOLDER is there. It is
# renamed into place: an interrupted build leaves nothing that looks complete. Another build may have been faster.
build() {
	if [ ! -e "$2" ]; then
		echo "opentofu: building $1 into $2" >&2
		made=$2.$$
		trap 'rm -rf "$made"' EXIT
		mkdir -p "$made"
		(cd "$1" && CGO_ENABLED=0 GOFLAGS='' $go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w $4" \
			-o "$made/$3" "$5")
		mv -T "$made" "$2" 2>/dev/null || [ -e "$2" ]
	fi
	echo "$2"
}

sum() {
	cat "$@" | sha256sum | cut -c 1-16
}

# Without the stamp, OpenTofu says that it is a development version.
build opentofu "$cache/opentofu-$(sum opentofu/go.mod opentofu/go.sum)" tofu \
	"-X github.com/opentofu/opentofu/version.dev=no" github.com/opentofu/opentofu/cmd/tofu
build schema "$cache/tofuschema-$(sum schema/go.mod schema/go.sum schema/*.go)" \
	"nearfar.test/tests/stand/1.0.0/$($go env GOOS)_$($go env GOARCH)/terraform-provider-stand_v1.0.0" "" .
