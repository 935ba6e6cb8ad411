#!/bin/sh
# Runs the linter. Another one may run at the same time, for example that of an editor.
#
#   lint.sh          on all packages
#   lint.sh changed  reports only lines that changed since this branch left main, and uncommitted changes
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh

# What ends within 90 days is a warning; what cannot be made any more fails.
${GO:-go} run ./realcloud/lifecycle labs
linter=$(scripts/linter.sh)
if [ "${1:-}" = changed ]; then
	base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
	exec "$linter" run --allow-parallel-runners --new-from-rev "$base" ./...
fi
exec "$linter" run --allow-parallel-runners ./...
