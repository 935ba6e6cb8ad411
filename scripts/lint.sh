#!/bin/sh
# Runs the linter. Another one may run at the same time, for example that of an editor.
#
#   lint.sh          on all packages
#   lint.sh changed  reports only lines that changed since this branch left main, and uncommitted changes. It looks at
#                    the packages of these lines alone, since it would report nothing of others.
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh

# What ends within 90 days is a warning; what cannot be made any more fails.
${GO:-go} run ./realcloud/lifecycle labs
linter=$(scripts/linter.sh)
if [ "${1:-}" != changed ]; then
	exec "$linter" run --allow-parallel-runners ./...
fi

changed=$(scripts/changed.sh)
base=$(echo "$changed" | head -n 1)
packages=$(echo "$changed" | tail -n +2)
git diff --quiet "$base" -- .golangci.yml || packages=./...
[ -z "$packages" ] || exec "$linter" run --allow-parallel-runners --new-from-rev "$base" $packages
