#!/bin/sh
# Puts the newest iperf3 that Debian has (its suite sid) into a folder of the user's cache, with all libraries that it
# needs, and prints the folder. Nothing is installed, and the machine's own package lists stay as they are. `make bench`
# measures against it beside the iperf3 of the machine. Needs apt-get and a Debian mirror among the package sources.
#
# The folder is made once; remove it for a newer one.
set -eu

folder=${XDG_CACHE_HOME:-$HOME/.cache}/nearfar-test/newest-tools
if [ -e "$folder" ]; then
	echo "$folder"
	exit
fi
mirror=$("$(dirname "$0")/debian-mirror.sh")
if [ -z "$mirror" ]; then
	echo "newest-tools: no Debian mirror in the package sources" >&2
	exit 1
fi

echo "newest-tools: fetching iperf3 of Debian sid into $folder" >&2
mkdir -p "$(dirname "$folder")"
made=$(mktemp -d "$folder.XXXXXX")
apt=$(mktemp -d)
trap 'rm -rf "$made" "$apt"' EXIT
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status" # of no installed packages, so that all libraries are fetched
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$apt/sources.list"
apart() {
	apt-get -qq -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}
apart update
apart install --yes --no-install-recommends --download-only iperf3 >/dev/null
for package in "$apt"/archives/*.deb; do
	dpkg-deb --extract "$package" "$made"
done
chmod 755 "$made"
mv -T "$made" "$folder" 2>/dev/null || [ -e "$folder" ]
echo "$folder"
