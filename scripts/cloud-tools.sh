#!/bin/sh
# Installs command line tools of clouds for tests, from PyPI, in the user's cache: the Azure CLI (730 MB), and the AWS CLI
# with moto, a fake of AWS. Each is a Python environment of its own, since their dependencies contradict each other, and
# there is one for each content of its list. Does nothing for those that exist.
#
#   cloud-tools.sh azure aws
set -eu
cd "$(dirname "$0")"

for cloud; do
	list=cloud-$cloud.txt
	environment=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/cloud-$cloud-$(sha256sum "$list" | cut -c 1-16)
	[ ! -e "$environment/complete" ] || continue
	echo "cloud-tools: installing $list into $environment" >&2
	rm -rf "$environment" # an interrupted installation
	mkdir -p "$(dirname "$environment")"
	python3 -m venv "$environment"
	# Python compiles what is used when it is used: all 20,000 files would take 45 s of CPU time.
	"$environment/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --require-hashes \
		-r "$list"
	touch "$environment/complete"
done
