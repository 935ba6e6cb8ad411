#!/bin/sh
# Builds nearfar for every system that it runs on, with SHA256SUMS beside: static, without paths of this machine, and the
# same bytes again from the same commit with the same Go.
#
#   dist.sh [DIRECTORY]    dist by default; what is in it is replaced
set -eu

go=${GO:-go}
out=${1:-dist}

rm -rf "$out"
mkdir -p "$out"
for target in linux/amd64 linux/arm64 windows/amd64 darwin/arm64; do
	os=${target%/*} arch=${target#*/} suffix=
	[ "$os" != windows ] || suffix=.exe
	# Symbols and DWARF are a third of the size, and stack traces work without; the version is in the build information.
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch GOFLAGS= $go build -trimpath -ldflags '-s -w -buildid=' \
		-o "$out/nearfar-$os-$arch$suffix" ./cmd/nearfar
done
cd "$out"
sha256sum nearfar-* >SHA256SUMS
wc -c nearfar-*
