#!/bin/sh
# Installs the measuring programs that the lab and the tests run.
#
#   install-tools.sh demo    what `make demo` needs; netperf only where it is to be had without a change of the sources
#   install-tools.sh test    all that `make test` needs, netperf included: it is in Debian's component non-free,
#                            which is added to the package sources as a file of its own; and what runs the builds for
#                            other systems: qemu-user, Wine, a C compiler for Windows; and Chromium, in
#                            which the HTML pages are tested (1.7 GB); PostgreSQL, which the tests start
#                            themselves; curl and jq, which commands of the documentation use; a C compiler,
#                            for the race detector and the benchmark's C loop; and a Python environment in the
#                            cache (see test-python.sh)
#
# Prints what it does. Exits 1 and names what is missing where it cannot install it.
set -eu

purpose=${1:-demo}

# program:package pairs, by package manager
programs() {
	case $1 in
	apt-get) echo "sockperf:sockperf iperf3:iperf3 ping:iputils-ping netperf:netperf" ;;
	dnf) echo "sockperf:sockperf iperf3:iperf3 ping:iputils netperf:netperf" ;;
	esac
	[ "$purpose" = test ] || return 0
	case $1 in
	apt-get) echo "qemu-aarch64:qemu-user wine:wine /usr/lib/wine/wine64:wine64 x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64 postgres:postgresql python3-venv:python3-venv chromium:chromium curl:curl jq:jq cc:build-essential" ;;
	dnf) echo "qemu-aarch64:qemu-user wine:wine x86_64-w64-mingw32-gcc:mingw64-gcc postgres:postgresql-server python3-venv:python3 chromium:chromium curl:curl jq:jq cc:gcc" ;;
	esac
}

# there says whether a program is installed; some are not on the path
there() {
	case $1 in
	postgres) command -v postgres || ls /usr/lib/postgresql/*/bin/postgres ;;
	python3-venv) python3 -c 'import ensurepip, venv' ;;
	*) command -v "$1" ;;
	esac >/dev/null 2>&1
}

missing() {
	for pair in $1; do
		there "${pair%%:*}" || printf '%s ' "${pair##*:}"
	done
}

names_missing() {
	others=
	[ "$purpose" != test ] || others="chromium qemu-aarch64 wine x86_64-w64-mingw32-gcc postgres python3-venv curl jq cc"
	for program in sockperf iperf3 ping netperf $others; do
		there "$program" || printf '%s ' "$program"
	done
}

# finish is what is left to do when all programs are there
finish() {
	[ "$purpose" != test ] || "$(dirname "$0")/test-python.sh"
	exit 0
}

absent=$(names_missing)
[ -n "$absent" ] || finish

manager=
for candidate in apt-get dnf; do
	if command -v "$candidate" >/dev/null 2>&1; then manager=$candidate; break; fi
done
if [ -z "$manager" ]; then
	echo "install-tools: missing: $absent" >&2
	echo "install-tools: no package manager that this script knows (apt-get, dnf): install them by hand" >&2
	[ "$purpose" = demo ] && [ "$absent" = "netperf " ] && exit 0
	exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
		as_root="sudo -n"
	else
		echo "install-tools: missing: $absent" >&2
		echo "install-tools: not root, and sudo asks for a password: install them first, for example: sudo $manager install $(missing "$(programs "$manager")")" >&2
		[ "$purpose" = demo ] && [ "$absent" = "netperf " ] && exit 0
		exit 1
	fi
fi

if [ "$manager" = apt-get ]; then
	if [ "$purpose" = test ] && [ ! -e /etc/apt/sources.list.d/nearfar-non-free.sources ] && [ ! -x "$(command -v netperf || true)" ]; then
		codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
		mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
			sed -n -e 's/^URIs: *\([^ ]*debian\)\/*$/\1/p' -e 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*debian\)\/* .*/\2/p' | head -n 1)
		if [ -n "$mirror" ]; then
			printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: non-free\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
				"$mirror" "$codename" | $as_root tee /etc/apt/sources.list.d/nearfar-non-free.sources >/dev/null
		else
			echo "install-tools: no Debian mirror in the package sources: add their component non-free by hand, for netperf" >&2
		fi
	fi
	$as_root apt-get update -qq || echo "install-tools: apt-get update failed; going on with the lists there are" >&2
	for package in $(missing "$(programs apt-get)"); do
		# sockperf, netperf and iperf3 come with services on some releases: keep them from starting.
		$as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "$package" >/dev/null ||
			echo "install-tools: apt-get could not install $package" >&2
	done
else
	for package in $(missing "$(programs dnf)"); do
		$as_root dnf install -y -q "$package" || echo "install-tools: dnf could not install $package" >&2
	done
fi

absent=$(names_missing)
if [ -n "$absent" ]; then
	echo "install-tools: still missing: $absent" >&2
	[ "$purpose" = demo ] && [ "$absent" = "netperf " ] && exit 0
	exit 1
fi
finish
