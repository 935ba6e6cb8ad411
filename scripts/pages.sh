#!/bin/sh
# Builds the HTML pages from web/ into internal/show/page/dist. The program embeds them from there.
#
#   pages.sh         if npm with Node 20.19 or later is missing, or has no network, says so and exits with 0: nearfar
#                    works without its pages
#   pages.sh test    runs the tests of the pages' code, and fails if npm is missing
set -eu

purpose=${1:-build}
cd "$(dirname "$0")/../web"

recent='const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
if ! command -v npm >/dev/null 2>&1 || ! node -e "$recent" 2>/dev/null; then
	echo "pages: npm with Node 20.19 or later is missing: nearfar is built without HTML pages" >&2
	[ "$purpose" = build ]
	exit
fi
# npm writes this file at the end of an installation. Scripts of packages are not run.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; then
		echo "pages: npm cannot install the packages of web/package-lock.json: nearfar is built without HTML pages" >&2
		[ "$purpose" = build ]
		exit
	fi
fi
if [ "$purpose" = test ]; then
	npm test --loglevel=error
else
	npm run --loglevel=error build
fi
