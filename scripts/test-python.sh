#!/bin/sh
# Makes the Python environment in which tests read files of nearfar (parquet, OpenMetrics, HDR histograms) and check the
# labs on AWS (cfn-lint, moto). There is one for each content of test-python.txt, in the user's cache. Does nothing if it
# exists.
set -eu
cd "$(dirname "$0")"

environment=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/python-$(sha256sum test-python.txt | cut -c 1-16)
[ ! -e "$environment/complete" ] || exit 0
rm -rf "$environment" # an interrupted installation
mkdir -p "$(dirname "$environment")"
python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r test-python.txt
touch "$environment/complete"
