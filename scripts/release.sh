#!/bin/sh
# Makes all that people install of one version, in dist/vX.Y.Z: archives, packages, bills of materials, install.sh,
# manifests for package managers, notes, sums, and a statement of where all of it comes from. docs/release.md has the
# list. The same commit and the same Go give the same bytes.
#
#   release.sh X.Y.Z               builds for all systems
#   release.sh X.Y.Z PROGRAMS OUT  packs the programs of a folder that scripts/dist.sh wrote, into another folder
#
# PLACE is the address at which releases are published, https://HOST/OWNER/nearfar/releases. KEY is a file with a
# private key that signs the statement.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
version=${1:-} programs=${2:-} out=${3:-dist/v$version}
fail() {
	echo "release: $1" >&2
	exit 1
}

case $version in
[0-9]*.[0-9]*.[0-9]*) ;;
*) fail "which version? make release VERSION=X.Y.Z" ;;
esac
[ ! -e "$out" ] || fail "$out exists: a release is never replaced; remove it first if it was published nowhere"
commit=$(git rev-parse HEAD) || fail "these sources are no commit"
seconds=$(git log -1 --format=%ct)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$programs" ]; then
	# What is built must be the commit that the release names.
	[ -z "$(git status --porcelain)" ] || fail "files differ from the commit: git status lists them"
	[ -f internal/show/page/dist/report.html ] || fail "the HTML pages are missing: npm with Node 20.19 builds them"
	export NEARFAR_VERSION="$version"
	GO=$go scripts/agents.sh
	programs=$work/programs
	GO=$go scripts/dist.sh "$programs"
	said=$("$programs/nearfar-$($go env GOHOSTOS)-$($go env GOHOSTARCH)" version)
	case $said in
	"nearfar $version "*" commit $commit") ;;
	*) fail "the program says \"$said\", and not that it is $version of commit $commit" ;;
	esac
fi
tools=$(scripts/release-tools.sh)
# Without cgo, and with the flags of the builds: most of it is compiled already. HOME could be in a default.
CGO_ENABLED=0 GOFLAGS=-trimpath $go build -o "$work/" ./release ./release/texts
HOME=/nonexistent "$work/texts" "$work/text" "$seconds"
"$work/release" make -version "$version" -commit "$commit" -time "$seconds" \
	${PLACE:+-place "$PLACE"} ${KEY:+-key "$KEY"} -programs "$programs" -texts "$work/text" -out "$out" \
	-nfpm "$tools/nfpm" -cyclonedx "$tools/cyclonedx-gomod"
