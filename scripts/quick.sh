#!/bin/sh
# Checks quickly whether a change broke something: whether everything compiles, the short tests of packages that do not
# measure, in parallel and from Go's test cache where nothing changed, without those of scripts/long.txt and
# scripts/slow.txt, and the linter on the changes (docs/adr/0167-slow-tests.md).
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh

# A test of hosts wants the agents for other machines, of any age.
[ -e internal/onhost/agent/binaries/dist/nearfar-agent-linux-arm64.gz ] || scripts/agents.sh >/dev/null
skip="$(scripts/long.sh tests)|$(scripts/slow.sh tests)"
slow=$(scripts/slow.sh packages)
packages=$(scripts/packages.sh others | grep -Fxv "$slow")
# The compiler collects garbage less often, which takes less time and more memory.
GOGC=400 ${GO:-go} list -export -test ./... >/dev/null
# The linter includes vet. Without tables of symbols and DWARF, which no test reads, linking takes less time. Twice as
# many packages as CPUs: some wait.
${GO:-go} test -short -vet=off -ldflags='-s -w' -p "$(($(getconf _NPROCESSORS_ONLN) * 2))" -timeout 5m -skip "$skip" $packages
scripts/lint.sh changed
