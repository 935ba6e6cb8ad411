# Runs inside of a new root: lists the packages in /srv/packages, and makes them its only package source.
set -eu
cd /srv/packages
rm -rf partial lock
for package in *.deb; do
	dpkg-deb -f "$package"
	echo "Filename: ./$package"
	echo "Size: $(stat -c %s "$package")"
	echo "SHA256: $(sha256sum "$package" | cut -d ' ' -f 1)"
	echo
done >Packages
rm -f /etc/apt/sources.list.d/* /etc/apt/sources.list
echo "deb [trusted=yes] file:/srv/packages ./" >/etc/apt/sources.list
rm -rf /var/lib/apt/lists/*
