#!/bin/sh
# Builds nearfar for every system that it runs on, and writes SHA256SUMS. Unpacks the agents that `make agents` made.
# The builds are static and contain no paths of this machine. The same commit and the same Go give the same bytes.
#
#   dist.sh [DIRECTORY]    dist by default; its content is replaced
#
# With NEARFAR_VERSION, that is the version of the builds, which also say their commit, whatever Go's settings here are.
# Other builds say which commit they are.
set -eu

go=${GO:-go}
out=${1:-dist}

rm -rf "$out"
mkdir -p "$out"
stamp= vcs=
if [ -n "${NEARFAR_VERSION:-}" ]; then
	stamp="-X $($go list ./internal/onhost/engine/process).stamped=$NEARFAR_VERSION" vcs=-buildvcs=true
fi
for target in linux/amd64 linux/arm64 windows/amd64 darwin/arm64 darwin/amd64; do
	os=${target%/*} arch=${target#*/} suffix=
	[ "$os" != windows ] || suffix=.exe
	# Without symbols and DWARF, a third of the size. Stack traces and the version do not need them.
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS= $go build -trimpath $vcs -ldflags "-s -w -buildid= $stamp" \
		-o "$out/nearfar-$os-$arch$suffix" ./cmd/nearfar
done
# The agents that nearfar contains, as programs: for hosts on which people place them by hand.
for packed in internal/onhost/agent/binaries/dist/nearfar-agent-*.gz; do
	[ -f "$packed" ] || continue
	name=$(basename "$packed" .gz) suffix=
	case $name in *-windows-*) suffix=.exe ;; esac
	gzip -dc "$packed" >"$out/$name$suffix"
	chmod 755 "$out/$name$suffix"
done
cd "$out"
sha256sum nearfar-* >SHA256SUMS
wc -c nearfar-*
