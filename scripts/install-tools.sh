#!/bin/sh
# Installs the programs that the lab and the tests run.
#
#   install-tools.sh demo    for `make demo`; netperf only if the package sources have it
#   install-tools.sh test    for `make test`; besides the above: netperf, from Debian's component non-free, which is
#                            added to the package sources in a file of its own; qperf; sshd, which the tests start
#                            themselves, fish and tcsh;
#                            qemu-user, Wine and a C compiler for Windows, which run the builds for other systems;
#                            Chromium, which tests the HTML pages (1.7 GB); curl and jq, which the documentation
#                            uses; wget and dash, with which install.sh is tested; a C compiler, for the race detector
#                            and the benchmark's C loop; containerd (with runc), etcd, nftables and busybox, of which
#                            tests make a cluster of Kubernetes; systemd-nspawn and mmdebstrap, with which tests start
#                            a Debian; Redis, nginx, ab, PostgreSQL, mosquitto and ActiveMQ, which the documentation
#                            measures; wrk and (see go-programs.sh) fortio, which nearfar runs;
#                            and, in the cache, a Python environment
#                            (see test-python.sh), the command line tools of Azure and AWS and a fake of AWS (see
#                            cloud-tools.sh; 1.2 GB), the programs of Kubernetes (see kubernetes.sh), OpenTofu (see
#                            opentofu.sh), programs that speak QUIC (see go-programs.sh), the AWS CDK (see cdk.sh; it
#                            needs npm), and for root a Debian that tests start (see boot-root.sh)
#
# The first `test` takes 7 to 20 minutes. It is in two halves, which run beside each other: `builds` compiles Kubernetes,
# OpenTofu, fortio and quic-go, and `packages` does the rest, which mostly waits for downloads and for the disk.
#
# No service that a package brings starts, now or with the machine: nearfar starts the servers that it measures itself.
# The services of measuring tools are switched off also if the package was here before: netperf's, for example, runs as
# root, listens on all addresses, and sends any file to anybody who asks.
#
# Prints what it does. If it cannot install something, it names what is missing and exits with 1.
set -eu

purpose=${1:-demo}
scripts=$(dirname "$0")

as_root=
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	as_root="sudo -n"
fi

# install_fortio builds fortio, which no distribution has, and copies it to where users without rights can run it.
install_fortio() {
	! command -v fortio >/dev/null 2>&1 || return 0
	built=$("$scripts/go-programs.sh" fortio)
	$as_root install -m 755 "$built/fortio" /usr/local/bin/fortio ||
		echo "install-tools: fortio could not be copied to /usr/local/bin: put $built on the PATH" >&2
}

case $purpose in
test)
	# xargs, because a command that the shell starts in the background ignores SIGINT.
	printf '%s\n' packages builds | xargs -n 1 -P 2 "$0" || exit 1
	exit 0
	;;
builds)
	# The Go compiler collects garbage less often: 7 % less CPU time for more memory. The scripts leave out DWARF, which
	# the linker would drop: 13 % less.
	export GOGC=400
	"$scripts/kubernetes.sh" >/dev/null
	"$scripts/opentofu.sh" >/dev/null
	"$scripts/cdk.sh" >/dev/null
	install_fortio
	"$scripts/go-programs.sh" quic >/dev/null
	exit 0
	;;
packages) purpose=test ;;
esac

# programs prints program:package pairs for a package manager
programs() {
	case $1 in
	apt-get) echo "sockperf:sockperf iperf3:iperf3 ping:iputils-ping netperf:netperf" ;;
	dnf) echo "sockperf:sockperf iperf3:iperf3 ping:iputils netperf:netperf" ;;
	esac
	[ "$purpose" = test ] || return 0
	case $1 in
	apt-get)
		echo "qemu-aarch64:qemu-user wine:wine /usr/lib/wine/wine64:wine64 x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64"
		echo "python3-venv:python3-venv chromium:chromium curl:curl wget:wget dash:dash jq:jq cc:build-essential"
		echo "qperf:qperf /usr/sbin/sshd:openssh-server fish:fish tcsh:tcsh"
		echo "containerd:containerd etcd:etcd-server /usr/sbin/nft:nftables busybox:busybox"
		echo "systemd-nspawn:systemd-container mmdebstrap:mmdebstrap tcpdump:tcpdump"
		echo "redis-server:redis-server redis-benchmark:redis-tools /usr/sbin/nginx:nginx-light ab:apache2-utils"
		echo "pgbench:postgresql /usr/sbin/mosquitto:mosquitto mosquitto_pub:mosquitto-clients wrk:wrk"
		echo "activemq:activemq python3-stomp:python3-stomp"
		;;
	dnf)
		echo "qemu-aarch64:qemu-user wine:wine x86_64-w64-mingw32-gcc:mingw64-gcc"
		echo "python3-venv:python3 chromium:chromium curl:curl wget:wget dash:dash jq:jq cc:gcc"
		echo "qperf:qperf /usr/sbin/sshd:openssh-server fish:fish tcsh:tcsh"
		echo "containerd:containerd etcd:etcd /usr/sbin/nft:nftables busybox:busybox"
		echo "systemd-nspawn:systemd-container mmdebstrap:mmdebstrap tcpdump:tcpdump"
		echo "redis-server:redis redis-benchmark:redis /usr/sbin/nginx:nginx ab:httpd-tools"
		echo "postgres:postgresql-server pgbench:postgresql-contrib /usr/sbin/mosquitto:mosquitto wrk:wrk"
		;;
	esac
}

# installed says whether a program is installed; some are not on the path
installed() {
	case $1 in
	python3-venv) python3 -c 'import ensurepip, venv' ;;
	python3-stomp) /usr/bin/python3 -c 'import stomp' ;;
	*) command -v "$1" ;;
	esac >/dev/null 2>&1
}

missing() {
	for pair in $1; do
		installed "${pair%%:*}" || printf '%s ' "${pair##*:}"
	done
}

names_missing() {
	others=
	if [ "$purpose" = test ]; then
		others="qperf /usr/sbin/sshd fish tcsh chromium qemu-aarch64 wine x86_64-w64-mingw32-gcc python3-venv"
		others="$others curl wget dash jq cc containerd etcd /usr/sbin/nft busybox systemd-nspawn mmdebstrap tcpdump"
		others="$others redis-server redis-benchmark /usr/sbin/nginx ab pgbench /usr/sbin/mosquitto mosquitto_pub wrk"
		# Fedora has no packages of these.
		! command -v apt-get >/dev/null 2>&1 || others="$others activemq python3-stomp"
	fi
	for program in sockperf iperf3 ping netperf $others; do
		installed "$program" || printf '%s ' "$program"
	done
}

# mask switches off units of systemd, and scripts of System V, by name: they do not start with the machine, and cannot be
# started by mistake.
mask() {
	for unit; do
		link=/etc/systemd/system/$unit
		[ "$(readlink "$link" 2>/dev/null)" != /dev/null ] || continue
		echo "install-tools: switching off $unit; to have it back: systemctl unmask $unit" >&2
		$as_root mkdir -p /etc/systemd/system && $as_root ln -sfn /dev/null "$link" ||
			echo "install-tools: $unit could not be switched off: do it by hand, it opens this machine" >&2
		# Only where systemd runs.
		if [ -d /run/systemd/system ]; then
			$as_root systemctl daemon-reload
			$as_root systemctl stop --quiet "$unit" 2>/dev/null || true
		fi
		service=${unit%.service}
		if [ -x "/etc/init.d/$service" ]; then
			# The script stops all processes of its program. In a container these are no service.
			[ "$(cat /proc/1/comm)" != init ] || $as_root "/etc/init.d/$service" stop >/dev/null 2>&1 || true
			! command -v update-rc.d >/dev/null 2>&1 || $as_root update-rc.d "$service" disable >/dev/null 2>&1 || true
		fi
	done
}

# mask_measuring switches off the services of the measuring tools.
mask_measuring() {
	for service in netperf netserver iperf3 sockperf qperf; do
		for folder in /etc/init.d /etc/systemd/system /lib/systemd/system /usr/lib/systemd/system; do
			if [ -e "$folder/$service" ] || [ -e "$folder/$service.service" ]; then
				mask "$service.service"
				break
			fi
		done
	done
}

# apt_install installs packages. RUNLEVEL=1: services of System V must not start while they are installed; mask_new sees
# to the rest.
apt_install() {
	$as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# packages_here lists the installed packages, sorted.
packages_here() {
	case $manager in
	apt-get) dpkg-query -W -f '${Package}\n' ;;
	dnf) rpm -qa --qf '%{NAME}\n' ;;
	esac | sort -u
}

# mask_new switches off all services that packages brought which were not here before; $1 is the list from before. D-Bus
# and systemd's own parts listen to this machine alone, and others need them.
mask_new() {
	for package in $(packages_here | comm -13 "$1" -); do
		case $manager in
		apt-get) dpkg -L "$package" ;;
		dnf) rpm -ql "$package" ;;
		esac 2>/dev/null
	done | sed -n -e 's#^\(/usr\)\{0,1\}/lib/systemd/system/\([^/]*\.\(service\|socket\|timer\|path\)\)$#\2#p' \
		-e 's#^/etc/init\.d/\([^/]*\)$#\1.service#p' | grep -v -e '^dbus' -e '^systemd-' | sort -u |
		while read -r unit; do
			mask "$unit" </dev/null
		done
}

# finish ends the script when all programs are installed
finish() {
	if [ "$purpose" = test ]; then
		"$scripts/test-python.sh"
		"$scripts/cloud-tools.sh" azure aws
		[ "$(id -u)" -ne 0 ] || "$scripts/boot-root.sh" debian >/dev/null
	fi
	exit 0
}

# Also if something cannot be installed below.
mask_measuring

absent=$(names_missing)
[ -n "$absent" ] || finish

manager=
for candidate in apt-get dnf; do
	if command -v "$candidate" >/dev/null 2>&1; then manager=$candidate; break; fi
done
if [ -z "$manager" ]; then
	echo "install-tools: missing: $absent" >&2
	echo "install-tools: neither apt-get nor dnf is here: install them by hand" >&2
	[ "$purpose" = demo ] && [ "$absent" = "netperf " ] && exit 0
	exit 1
fi

if [ "$(id -u)" -ne 0 ] && [ -z "$as_root" ]; then
	echo "install-tools: missing: $absent" >&2
	echo "install-tools: not root, and sudo asks for a password: install them first, for example:" >&2
	echo "sudo $manager install $(missing "$(programs "$manager")")" >&2
	[ "$purpose" = demo ] && [ "$absent" = "netperf " ] && exit 0
	exit 1
fi

before=$(mktemp)
trap 'rm -f "$before"' EXIT
packages_here >"$before"
if [ "$manager" = apt-get ]; then
	sources=/etc/apt/sources.list.d/nearfar-non-free.sources
	if [ "$purpose" = test ] && [ ! -e "$sources" ] && [ ! -x "$(command -v netperf || true)" ]; then
		codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
		mirror=$("$scripts/debian-mirror.sh")
		if [ -n "$mirror" ]; then
			printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: non-free\nSigned-By: %s\n' \
				"$mirror" "$codename" /usr/share/keyrings/debian-archive-keyring.gpg |
				$as_root tee "$sources" >/dev/null
		else
			echo "install-tools: no Debian mirror in the package sources: for netperf, add non-free by hand" >&2
		fi
	fi
	$as_root apt-get update -qq || echo "install-tools: apt-get update failed; using the old package lists" >&2
	# Each call reads all package lists: one for all packages, or, if one of them cannot be installed, one for each.
	apt_install $(missing "$(programs apt-get)") || for package in $(missing "$(programs apt-get)"); do
		apt_install "$package" || echo "install-tools: apt-get could not install $package" >&2
	done
else
	for package in $(missing "$(programs dnf)"); do
		$as_root dnf install -y -q "$package" || echo "install-tools: dnf could not install $package" >&2
	done
fi

mask_new "$before"
mask_measuring

absent=$(names_missing)
if [ -n "$absent" ]; then
	echo "install-tools: still missing: $absent" >&2
	[ "$purpose" = demo ] && [ "$absent" = "netperf " ] && exit 0
	exit 1
fi
finish
