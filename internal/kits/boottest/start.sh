# Starts systemd in a root. The test runs it in a mount namespace of its own, in the network namespace of its network.
#
#   $1 the root   $2 a folder of this machine, with files for it   $3 its control group   $4 its bridge
set -eu
root=$1 folder=$2 group=$3 bridge=$4

# systemd-nspawn makes control groups below the one in which it starts. Two machines in the same one would share them.
for tree in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
	[ -e "$tree/cgroup.procs" ] || continue
	mkdir -p "$tree/$group"
	echo $$ >"$tree/$group/cgroup.procs"
done

# The root is shared by all machines. What this one changes is in its folder.
mkdir -p "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay -o "lowerdir=$root,upperdir=$folder/upper,workdir=$folder/work" overlay "$folder/root"

# What a cloud does before its machine starts: its image, its data source, and its network.
if [ -e "$folder/before" ]; then
	mount -t proc proc "$folder/root/proc"
	cp -rT "$folder/files" "$folder/root"
	chroot "$folder/root" sh -eu <"$folder/before"
	umount "$folder/root/proc"
fi
[ ! -e "$folder/files/srv/cloud" ] ||
	mv "$folder/root/usr/lib/systemd/systemd" "$folder/root/usr/lib/systemd/systemd.real"
cp -rT "$folder/files" "$folder/root"
mkdir -p "$folder/root/etc/systemd/system/multi-user.target.wants"
ln -sf /lib/systemd/system/systemd-networkd.service "$folder/root/etc/systemd/system/multi-user.target.wants/"

# Without it, systemd would want the control groups of version 1 where this machine has them, which it may not have.
SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --register=no --keep-unit --network-bridge="$bridge" \
	--console=pipe --machine="$group" --directory="$folder/root" --boot
