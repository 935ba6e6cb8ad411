#!/bin/sh
# Makes the Python environment with which tests read what nearfar writes: parquet, OpenMetrics, HDR histograms. One for each
# set of versions in test-python.txt, in the user's cache. Does nothing where it is there.
set -eu
cd "$(dirname "$0")"

environment=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/python-$(sha256sum test-python.txt | cut -c 1-16)
[ ! -e "$environment/complete" ] || exit 0
rm -rf "$environment" # what an interrupted installation has left
mkdir -p "$(dirname "$environment")"
python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r test-python.txt
touch "$environment/complete"
