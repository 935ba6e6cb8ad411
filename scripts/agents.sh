#!/bin/sh
# Builds nearfar-agent and nearfar-front for every system on which they run, and compresses them into
# internal/onhost/agent/binaries/dist, from where nearfar embeds them. The same commit and the same Go give the
# same bytes.
#
# With NEARFAR_VERSION, that is the version of the agents, which also say their commit, whatever Go's settings here are.
# Other agents say which commit they are.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
out=internal/onhost/agent/binaries/dist

made=$(mktemp)
trap 'rm -f "$made"' EXIT
stamp= vcs=
if [ -n "${NEARFAR_VERSION:-}" ]; then
	stamp="-X $($go list ./internal/onhost/engine/process).stamped=$NEARFAR_VERSION" vcs=-buildvcs=true
fi
# made_for PROGRAM SYSTEM/ARCHITECTURE builds a program.
made_for() {
	os=${2%/*} arch=${2#*/}
	file=$out/$1-$os-$arch.gz
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS= $go build -trimpath $vcs -ldflags "-s -w -buildid= $stamp" -o "$made" \
		"./cmd/$1"
	# Unchanged files keep their time, so that nearfar is not built again.
	if [ ! -f "$file" ] || ! gzip -dc "$file" | cmp -s - "$made"; then
		gzip -7nc "$made" >"$file.new"
		mv "$file.new" "$file"
	fi
}
for target in linux/amd64 linux/arm64 windows/amd64; do
	made_for nearfar-agent $target
done
for target in linux/amd64 linux/arm64; do
	made_for nearfar-front $target
done
wc -c "$out"/*.gz
