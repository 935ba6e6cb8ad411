#!/bin/sh
# Installs nearfar for this user, on Linux or macOS: downloads the archive of a release and SHA256SUMS, compares the
# sum, tries the program, and moves it into place. It needs no root, and changes nothing unless all of that succeeded.
#
#   install.sh [--from PLACE] [--version X.Y.Z] [--prefix FOLDER]
#
#   --from      where releases are: an address below which there are download/vX.Y.Z/ and latest/download/, or a folder
#               with the files of one release; $NEARFAR_URL without it
#   --version   the release, X.Y.Z; the latest without it
#   --prefix    the program becomes FOLDER/bin/nearfar; ~/.local without it
#
# It needs curl or wget, tar, gzip, and sha256sum, shasum or openssl.
set -eu

# The release in which this file is has its own place here.
published='@PLACE@'

# All of it is in functions, and the last line calls them: of half a script, which was cut off while it was piped into a
# shell, nothing runs.
main() {
	from=${NEARFAR_URL:-} version='' prefix=''
	while [ $# -gt 0 ]; do
		case $1 in
		--from=* | --version=* | --prefix=*) name=${1%%=*} value=${1#*=} ;;
		--from | --version | --prefix)
			[ $# -gt 1 ] || wrong "$1 needs a value"
			name=$1 value=$2
			shift
			;;
		-h | --help)
			usage
			exit 0
			;;
		*) wrong "there is no $1" ;;
		esac
		[ -n "$value" ] || wrong "$name needs a value"
		case $name in
		--from) from=$value ;;
		--version) version=${value#v} ;;
		--prefix) prefix=$value ;;
		esac
		shift
	done
	find_place
	find_system
	find_programs
	[ -n "$prefix" ] || prefix=${HOME:?install.sh: no HOME: say --prefix FOLDER}/.local
	bin=$prefix/bin
	install
}

usage() {
	echo "usage: install.sh [--from PLACE] [--version X.Y.Z] [--prefix FOLDER]"
	echo "Installs nearfar as FOLDER/bin/nearfar, without --prefix as ~/.local/bin/nearfar. PLACE is the address of the"
	echo "releases, or a folder with the files of one release; without --from it is \$NEARFAR_URL."
}

wrong() {
	echo "install.sh: $1" >&2
	usage >&2
	exit 2
}

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

# find_place sets from: where releases are.
find_place() {
	if [ -z "$from" ]; then
		case $published in
		@*) wrong "this copy does not know where releases are: say --from PLACE, or set NEARFAR_URL" ;;
		esac
		from=$published
	fi
	from=${from%/}
	case $version in
	*[!0-9A-Za-z.+-]*) wrong "$version is no version: X.Y.Z is meant" ;;
	esac
}

# find_system sets system: the system and the architecture, as names of archives have them.
find_system() {
	os=$(uname -s) machine=$(uname -m)
	case $os in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	MINGW* | MSYS* | CYGWIN* | Windows*)
		fail "this is Windows: unpack the file of the release that ends in windows-amd64.zip"
		;;
	*) fail "there is no nearfar for $os: the systems are Linux, macOS and Windows" ;;
	esac
	case $machine in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no nearfar for $machine processors: amd64 (x86_64) and arm64 (aarch64) are supported" ;;
	esac
	# A shell that macOS translates does not see the processor.
	if [ "$os/$arch" = darwin/amd64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then
		arch=arm64
	fi
	system=$os-$arch
}

# find_programs checks for the programs that are needed, and sets loader: what downloads.
find_programs() {
	loader=copy
	case $from in
	*://*)
		if has curl; then
			loader=curl
		elif has wget; then
			loader=wget
		else
			fail "neither curl nor wget is here: install one of them"
		fi
		;;
	esac
	has tar || fail "tar is not here: install it"
	has gzip || fail "gzip is not here: install it"
	has sha256sum || has shasum || has openssl ||
		fail "nothing here computes SHA-256 (sha256sum, shasum or openssl): install one of them"
}

has() {
	command -v "$1" >/dev/null 2>&1
}

# install does what the first lines of this file say. Everything is first in a folder beside the place of the program,
# so that moving it there cannot stop half way.
install() {
	made='' work=''
	trap undo EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if [ -d "$bin/nearfar" ]; then
		fail "$bin/nearfar is a folder: choose another --prefix"
	fi
	make_folder "$bin"
	work=$(mktemp -d "$bin/.nearfar-install.XXXXXX" 2>/dev/null) ||
		fail "nothing can be written to $bin: its disk is full, or you may not; another --prefix is another folder"

	if [ -n "$version" ]; then
		folder=$from/download/v$version
	else
		folder=$from/latest/download
	fi
	[ "$loader" != copy ] || folder=$from
	load SHA256SUMS
	find_archive
	echo "install.sh: taking $archive from $folder"
	load "$archive"
	is=$(sha256 "$work/$archive")
	[ "$is" = "$sum" ] ||
		fail "$folder/$archive is not what SHA256SUMS says, and was not installed: its SHA-256 is $is, and not $sum"
	name=${archive%.tar.gz}
	said=$(cd "$work" && gzip -dc "$archive" 2>&1 >archive.tar) ||
		fail "$archive could not be unpacked to $bin: $(last "$said")$(room)"
	rm -f "$work/$archive"
	said=$(cd "$work" && tar -xf archive.tar "$name/nearfar" 2>&1) ||
		fail "$archive could not be unpacked to $bin: $(last "$said")$(room)"
	said=$("$work/$name/nearfar" version 2>&1 </dev/null) ||
		fail "the program of $archive does not run in $bin: $(last "$said")"
	case $said in
	"nearfar $version "*) ;;
	*) fail "the program of $archive says that it is $(last "$said"), not $version" ;;
	esac
	before=
	if [ -e "$bin/nearfar" ]; then
		before=$("$bin/nearfar" version 2>/dev/null </dev/null | awk 'NR == 1 { print $2 }') || before=unknown
		before=" (it replaced ${before:-unknown})"
	fi
	said=$(mv -f "$work/$name/nearfar" "$bin/nearfar" 2>&1) || fail "$bin/nearfar: $(last "$said")"
	made=''
	echo "install.sh: $bin/nearfar is nearfar $version for $system$before; its archive has the SHA-256 of SHA256SUMS"
	case :${PATH:-}: in
	*":$bin:"*) ;;
	*) echo "install.sh: $bin is not on your PATH; for this shell: export PATH=\"$bin:\$PATH\"" ;;
	esac
	echo "install.sh: nothing else was installed; to remove it: rm $bin/nearfar"
}

# make_folder makes a folder and those above it, and sets made: those that it made, the deepest first.
make_folder() {
	missing=$1
	while [ -n "$missing" ] && [ ! -e "$missing" ] && [ "$missing" != . ]; do
		made="$made$missing
"
		missing=$(dirname "$missing")
	done
	said=$(mkdir -p "$1" 2>&1) || fail "$1 cannot be made: $(last "$said"); another --prefix is another folder"
}

# undo removes what is not wanted at the end: the working folder, and after a failure the folders that were made.
undo() {
	[ -z "$work" ] || rm -rf "$work"
	echo "$made" | while read -r folder; do
		[ -z "$folder" ] || rmdir "$folder" 2>/dev/null || true
	done
}

# load downloads a file of the release into the working folder.
load() {
	case $loader in
	copy) said=$(cp "$folder/$1" "$work/$1" 2>&1) ;;
	curl)
		redirected=http,https
		case $folder in
		https://*) redirected=https ;;
		esac
		said=$(curl -fsSL --proto =http,https --proto-redir "=$redirected" --connect-timeout 30 --speed-time 60 \
			--speed-limit 1 -o "$work/$1" "$folder/$1" 2>&1)
		;;
	wget)
		# busybox's may end with a segmentation fault at a limit of time. GNU's, if it is quiet, says nothing of
		# what is wrong.
		limits=
		case $(wget --version 2>&1) in
		*GNU*) limits='-t 2 -T 60' ;;
		esac
		# shellcheck disable=SC2086 # several words, or none
		said=$(wget $limits -O "$work/$1" "$folder/$1" 2>&1)
		;;
	esac || fail "$folder/$1 could not be downloaded: $(last "$said")$(room)"
}

# find_archive reads SHA256SUMS, and sets archive, sum and version.
find_archive() {
	found=$(awk -v version="$version" -v kind="$system" '
		{
			begins = "nearfar-" version; ends = "-" kind ".tar.gz"
			if (version != "") fits = $2 == begins ends
			else fits = index($2, begins) == 1 && substr($2, length($2) - length(ends) + 1) == ends
			if (fits && length($1) == 64 && $1 !~ /[^0-9a-f]/ && $2 !~ /\//) print $1, $2
		}' "$work/SHA256SUMS")
	case $found in
	'') fail "$folder/SHA256SUMS has no archive of nearfar${version:+ $version} for $system" ;;
	*"
"*) fail "$folder/SHA256SUMS has several archives of nearfar for $system: say --version X.Y.Z" ;;
	esac
	sum=${found%% *} archive=${found#* }
	version=${archive#nearfar-} version=${version%-"$system".tar.gz}
}

sha256() {
	if has sha256sum; then
		sha256sum "$1" | cut -c 1-64
	elif has shasum; then
		shasum -a 256 "$1" | cut -c 1-64
	else
		openssl dgst -sha256 "$1" | sed 's/.* //'
	fi
}

# room says how much room is left, if it is less than a release takes: 150 MB.
room() {
	free=$(df -Pk "$bin" 2>/dev/null | awk 'NR == 2 { print $4 }')
	[ "${free:-150000}" -ge 150000 ] || echo "; $free KiB are free in $bin, and 150000 are needed"
}

# last is the last line of what a program said.
last() {
	said=$(echo "$1" | sed '/^[[:space:]]*$/d' | tail -n 1)
	echo "${said:-it says nothing}"
}

main "$@"
