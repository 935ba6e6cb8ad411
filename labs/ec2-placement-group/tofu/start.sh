#!/bin/bash
# Runs once, as root, when the machine starts for the first time. It is a template: expires is the end of the machine.
set -eu

# The machine shuts itself down when it expires, also if nobody asks it to. EC2 then terminates it. The timer is in
# files, so that it survives a reboot.
cat >/etc/systemd/system/nearfar-expires.service <<'UNIT'
[Unit]
Description=Shut down at the end of this machine's time
[Service]
Type=oneshot
ExecStart=/usr/bin/systemctl poweroff
UNIT
cat >/etc/systemd/system/nearfar-expires.timer <<'UNIT'
[Unit]
Description=The end of this machine's time
[Timer]
OnCalendar=${expires}
Persistent=true
[Install]
WantedBy=timers.target
UNIT
systemctl daemon-reload
systemctl enable --now nearfar-expires.timer
# A timer does not start at a time that has passed.
if [ "$(date +%s)" -ge "$(date -d '${expires}' +%s)" ]; then
	systemctl poweroff
fi

# ENA Express carries packets of at most 8900 bytes. All machines have this MTU, so that the arms do not differ in it.
device=$(ip -4 route show default | awk '{ print $5; exit }')
ip link set dev "$device" mtu 8900
mkdir -p "/etc/systemd/network/70-$device.network.d"
printf '[Link]\nMTUBytes=8900\n[DHCPv4]\nUseMTU=false\n' >"/etc/systemd/network/70-$device.network.d/nearfar.conf"
