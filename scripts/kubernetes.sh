#!/bin/sh
# Builds the programs of Kubernetes and the CNI plugins from which tests make a cluster (internal/kits/kubetest), in the
# versions that internal/kits/kubetest/components/go.mod pins, and prints their folder. There is one folder for each
# content of go.mod and go.sum, in the user's cache. The first call takes 6 to 15 minutes; later calls build nothing.
set -eu
cd "$(dirname "$0")/../internal/kits/kubetest/components"

go=${GO:-go}
folder=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/kubernetes-$(cat go.mod go.sum | sha256sum | cut -c 1-16)
if [ -e "$folder" ]; then
	echo "$folder"
	exit
fi

version=$(sed -n 's/^[[:space:]]*k8s.io\/kubernetes \(v1\.[0-9.]*\).*/\1/p' go.mod)
minor=${version#v1.}
echo "kubernetes: building Kubernetes $version into $folder; this takes 6 to 15 minutes" >&2
made=$folder.$$
trap 'rm -rf "$made"' EXIT
mkdir -p "$made"
# kubectl and the API server compare these versions with each other's. Without them, kubectl cannot read the server's.
base=k8s.io/component-base/version
stamps="-X $base.gitVersion=$version -X $base.gitMajor=1 -X $base.gitMinor=${minor%%.*} -X $base.gitTreeState=clean"
packages=$(GOFLAGS= $go list tool)
CGO_ENABLED=0 GOFLAGS= $go build -trimpath -gcflags=all=-dwarf=false -ldflags "-s -w $stamps" -o "$made/" $packages
# Renamed into place: an interrupted build leaves nothing that looks complete. Another build may have been faster.
mv -T "$made" "$folder" 2>/dev/null || [ -e "$folder" ]
echo "$folder"
