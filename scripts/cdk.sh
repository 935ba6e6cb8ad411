#!/bin/sh
# Installs the AWS CDK of labs/eks-placement-group for the tests, in the versions of its package-lock.json, and prints the
# folder. There is one folder for each content of that file, in the user's cache. Takes some seconds and 240 MB; later
# calls install nothing.
set -eu
cd "$(dirname "$0")/../labs/eks-placement-group/cdk"

folder=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/cdk-$(cat package.json package-lock.json | sha256sum | cut -c 1-16)
if [ ! -e "$folder" ]; then
	echo "cdk: installing into $folder" >&2
	made=$folder.$$
	trap 'rm -rf "$made"' EXIT
	mkdir -p "$made"
	cp package.json package-lock.json "$made"
	(cd "$made" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
	# It is renamed into place: an interrupted installation leaves nothing that looks complete.
	mv -T "$made" "$folder" 2>/dev/null || [ -e "$folder" ]
fi
echo "$folder"
