#!/bin/sh
# Checks quickly whether a change broke something: the short tests of all packages that do not measure, in parallel and
# from Go's test cache where nothing changed, without those of scripts/long.txt and scripts/slow.txt, and the linter on
# the changes (docs/adr/0167-slow-tests.md).
set -eu
cd "$(dirname "$0")/.."
. scripts/goflags.sh

skip="$(scripts/long.sh tests)|$(scripts/slow.sh)"
packages=$(scripts/packages.sh others)
# The linter includes vet. Without tables of symbols and DWARF, which no test reads, linking takes less time.
${GO:-go} test -short -vet=off -ldflags='-s -w' -timeout 5m -skip "$skip" $packages
scripts/lint.sh changed
