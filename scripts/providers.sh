#!/bin/sh
# Brings the real providers of the labs' modules, in the versions that the modules pin, into the user's cache. Prints the
# variable with which the tests whose names begin with TestProviders find them. OpenTofu itself downloads them, as
# `tofu init` does. FROM=proxy builds those of providers.txt instead, with one compiler at a time and a low priority.
#
#   providers.sh azurerm google
#   FROM=proxy providers.sh aws
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/providers
programs=$(./scripts/opentofu.sh | head -n 1)
system=$($go env GOOS)_$($go env GOARCH)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# version KIND prints the version that the labs pin: it is in the line after the provider's name.
version() {
	cat labs/*/tofu/*.tf | sed -n "/\"hashicorp\/$1\"/{n;s/.*\"\(.*\)\".*/\1/p;}" | sort -u
}

# download KIND lets OpenTofu install the provider of each lab that uses it.
download() {
	mkdir -p "$cache"
	for lab in $(grep -l "\"hashicorp/$1\"" labs/*/tofu/*.tf | xargs -n 1 dirname | sort -u); do
		cp -R "$lab" "$work/module"
		TF_PLUGIN_CACHE_DIR="$cache" "$programs/tofu" -chdir="$work/module" init -input=false -backend=false -no-color >&2
		rm -rf "$work/module"
	done
}

# build KIND builds a provider of providers.txt, if the proxy gives the module with the hash that is written there.
build() {
	line=$(grep "^$1 $(version "$1") " scripts/providers.txt) ||
		{ echo "providers: scripts/providers.txt has no $1 $(version "$1")" >&2; exit 1; }
	set -- $line # name, version, module, version of the module, hash
	got=$($go mod download -json "$3@$4" | sed -n 's/^\t"Sum": "\(.*\)",$/\1/p')
	[ "$got" = "$5" ] || { echo "providers: $3@$4 has the hash $got, not $5" >&2; exit 1; }
	(cd "$work" && GOBIN="$work" CGO_ENABLED=0 GOFLAGS='' nice -n 10 $go install -p 1 -trimpath -ldflags '-s -w' "$3@$4")
	folder=$cache/registry.opentofu.org/hashicorp/$1/$2/$system
	mkdir -p "$folder"
	mv "$work/terraform-provider-$1" "$folder/terraform-provider-$1"
}

[ $# -gt 0 ] || { echo "usage: providers.sh NAME...: azurerm, google, aws" >&2; exit 2; }
for kind; do
	version=$(version "$kind")
	[ -n "$version" ] || { echo "providers: no lab uses hashicorp/$kind" >&2; exit 2; }
	[ -z "$(find "$cache" -path "*/hashicorp/$kind/$version/$system" 2>/dev/null)" ] || continue
	if [ "${FROM:-}" = proxy ]; then build "$kind"; else download "$kind"; fi
done
echo "NEARFAR_PROVIDERS=$cache"
