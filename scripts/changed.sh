#!/bin/sh
# Prints the base of this branch's changes, and then the folders of the packages with a file, or a file of testdata,
# that changed since, committed or not: each as ./FOLDER, in a line of its own.
set -eu
cd "$(dirname "$0")/.."

base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
echo "$base"
all=$(${GO:-go} list -f '{{.Dir}}' ./... | sed "s#^$PWD#.#")
{
	git diff --name-only "$base"
	git ls-files --others --exclude-standard
} | sed -n -e 's#/testdata/.*#/x.go#' -e 's#^\(.*/\)\{0,1\}[^/]*\.go$#./\1#p' | sed 's#/$##' | sort -u |
	grep -Fx "$all" || true
