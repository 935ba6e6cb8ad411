#!/bin/sh
# Prints a pattern for `go test -run` or -skip: the tests of internal/onhost/engine and internal/e2e that judge no
# measured figures. These are the tests that call t.Parallel before anything else.
#
#   unjudged.sh             all of them
#   unjudged.sh clusters    those that start a Kubernetes cluster, which takes minutes
#   unjudged.sh rest        all others
set -eu
cd "$(dirname "$0")/.."
names=$(awk -v asked="${1:-}" '
	/^func Test[A-Za-z0-9_]*\(t \*testing\.T\)/ { name = $2; sub(/\(.*/, "", name); line = 0; next }
	name == "" { next }
	++line == 1 && !/^\tt\.Parallel\(\)/ { name = "" }
	/new(Kube|Pool)Rig\(/ { cluster[name] = 1 }
	/^}/ {
		if (asked == "" || asked == (name in cluster ? "clusters" : "rest"))
			print name
		name = ""
	}
' internal/onhost/engine/*_test.go internal/e2e/*_test.go | paste -sd '|' -)
if [ -z "$names" ]; then
	echo "unjudged: no such test of internal/onhost/engine and internal/e2e calls t.Parallel" >&2
	exit 1
fi
echo "^($names)\$"
