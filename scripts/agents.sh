#!/bin/sh
# Builds nearfar-agent for every system on which it runs, and compresses it into internal/onhost/agent/binaries/dist,
# from where nearfar embeds it. The same commit and the same Go give the same bytes.
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
for target in linux/amd64 linux/arm64 windows/amd64; do
	os=${target%/*} arch=${target#*/}
	file=$out/nearfar-agent-$os-$arch.gz
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS= $go build -trimpath $vcs -ldflags "-s -w -buildid= $stamp" -o "$made" \
		./cmd/nearfar-agent
	# Unchanged files keep their time, so that nearfar is not built again.
	if [ ! -f "$file" ] || ! gzip -dc "$file" | cmp -s - "$made"; then
		gzip -9nc "$made" >"$file.new"
		mv "$file.new" "$file"
	fi
done
wc -c "$out"/*.gz
