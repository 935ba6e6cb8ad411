#!/bin/sh
# Makes roots of Debian and Ubuntu with systemd, cloud-init and sshd, which tests start (internal/kits/boottest), and a
# bare Debian, and prints their folders. boot-SYSTEM.txt says what is in them. There is one folder for each content of
# that file, in the user's cache. The first call takes about 2 minutes for each. It needs root and mmdebstrap.
#
#   boot-root.sh debian [ubuntu] [bare]
#
# Packages come from the mirror in Debian's package sources. Ubuntu's come from $UBUNTU_MIRROR, if it is set.
set -eu
cd "$(dirname "$0")"

debian_mirror() {
	mirror=$(./debian-mirror.sh)
	echo "${mirror:-http://deb.debian.org/debian}"
}

# listed prints the words that the list has for a key
listed() {
	sed -n "s/^$2 //p" "boot-$1.txt" | tr '\n' ' ' | sed 's/ $//'
}

# sources prints the package sources of a system. $2 is a folder for the keys.
sources() {
	suite=$(listed "$1" suite)
	case $1 in
	debian)
		echo "deb $(debian_mirror) $suite main non-free" # netperf is in non-free
		echo "deb $(debian_mirror) $suite-updates main"
		;;
	bare)
		for part in "$suite" "$suite-updates" "$suite-backports"; do
			echo "deb $(debian_mirror) $part main"
		done
		;;
	ubuntu)
		# Debian has no package with Ubuntu's keys. This is the one that noble was released with.
		package=pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb
		sum=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8
		mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
		curl -fsS --retry 3 -o "$2/keyring.deb" "$mirror/$package"
		echo "$sum  $2/keyring.deb" | sha256sum -c --quiet - >&2
		dpkg-deb -x "$2/keyring.deb" "$2"
		echo "deb [signed-by=$2/usr/share/keyrings/ubuntu-archive-keyring.gpg] $mirror $suite main universe"
		;;
	esac
}

cache=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test
for system; do
	folder=$cache/boot-$system-$(sha256sum "boot-$system.txt" | cut -c 1-16)
	if [ ! -e "$folder" ]; then
		echo "boot-root: making $folder" >&2
		made=$folder.$$
		trap 'rm -rf "$made" "$made.keys"' EXIT
		mkdir -p "$made" "$made.keys"
		chmod 755 "$made" "$made.keys"
		sources "$system" "$made.keys" >"$made.keys/sources.list"
		image=$(listed "$system" image | tr ' ' ',')
		later=$(listed "$system" later)
		set -- ${image:+"--include=$image"}
		if [ -n "$later" ]; then
			# What machines install later comes from a folder in the root: a test has no network.
			set -- "$@" --customize-hook='mkdir "$1/srv/packages"' \
				--customize-hook="chroot \"\$1\" apt-get install -y -qq --no-install-recommends --download-only \
					-o Dir::Cache::archives=/srv/packages $later" \
				--customize-hook='chroot "$1" sh -c "$(cat "'"$PWD"'/boot-index.sh")"'
		fi
		mmdebstrap --quiet --variant=minbase --mode=root "$@" \
			"$(listed "$system" suite)" "$made" "$made.keys/sources.list"
		# Renamed into place: an interrupted call leaves nothing that looks complete.
		mv -T "$made" "$folder" 2>/dev/null || [ -e "$folder" ]
		rm -rf "$made" "$made.keys"
	fi
	echo "$folder"
done
