#!/bin/sh
# Builds the HTML pages from web/ into internal/page/dist, from where the program embeds them.
#
#   pages.sh         where npm with Node 20.19 or later is missing, or has no network, says so and goes on: nearfar then works
#                    without its pages
#   pages.sh test    runs the tests of the pages' code, and fails where npm is missing
set -eu

purpose=${1:-build}
cd "$(dirname "$0")/../web"

recent='const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'
if ! command -v npm >/dev/null 2>&1 || ! node -e "$recent" 2>/dev/null; then
	echo "pages: npm with Node 20.19 or later is not there: nearfar is built without HTML pages" >&2
	[ "$purpose" = build ]
	exit
fi
# npm writes that file when it has installed what the lock file names. No package's own scripts are run.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error; then
		echo "pages: npm cannot install what web/package-lock.json names: nearfar is built without HTML pages" >&2
		[ "$purpose" = build ]
		exit
	fi
fi
if [ "$purpose" = test ]; then
	npm test --loglevel=error
else
	npm run --loglevel=error build
fi
