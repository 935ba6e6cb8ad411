#!/bin/sh
# Stands in the place of systemd in a machine of a cloud, gives the machine what a container lacks of a virtual one, and
# starts systemd: the firmware's strings (DMI), and its network device's address. Programs other than systemd do not see
# that it is a container.
if [ $$ = 1 ]; then
	set -eu
	# Folders of /sys/class cannot be made, so another one is put over it, with the same and dmi.
	mkdir -p /run/class
	mount -t tmpfs tmpfs /run/class
	for class in /sys/class/*; do
		[ -d "$class" ] || continue
		mkdir "/run/class/${class##*/}"
		mount --rbind "$class" "/run/class/${class##*/}"
	done
	mkdir -p /run/class/dmi/id
	cp /srv/cloud/dmi/* /run/class/dmi/id/
	mount --rbind /run/class /sys/class
	ip link set dev host0 address "$(cat /srv/cloud/mac)"
	unset container
fi
exec /usr/lib/systemd/systemd.real "$@"
