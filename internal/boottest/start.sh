# Starts systemd in a root. The test runs it in a mount namespace of its own, in the network namespace of its network.
#
#   $1 the root   $2 a folder of this machine   $3 its control group   $4 its bridge   $5 where its devices are
set -eu
root=$1 folder=$2 group=$3 bridge=$4 address=$5

# systemd-nspawn makes control groups below the one in which it starts. Two machines in the same one would share them.
for tree in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
	[ -e "$tree/cgroup.procs" ] || continue
	mkdir -p "$tree/$group"
	echo $$ >"$tree/$group/cgroup.procs"
done

# The root is shared by all machines. What this one changes is in its folder.
mkdir -p "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay -o "lowerdir=$root,upperdir=$folder/upper,workdir=$folder/work" overlay "$folder/root"

# What a cloud does before its machine starts: its data source, and its network.
seed=$folder/root/var/lib/cloud/seed/nocloud
mkdir -p "$seed"
cp "$folder/user-data" "$folder/meta-data" "$seed/"
cat >"$folder/root/etc/cloud/cloud.cfg.d/99-test.cfg" <<'END'
datasource_list: [NoCloud]
apt: {preserve_sources_list: true}
network: {config: disabled}
locale: C.UTF-8
END
printf '[Match]\nName=host0\n[Network]\nAddress=%s/24\nGateway=10.55.0.1\n' "$address" \
	>"$folder/root/etc/systemd/network/10-host0.network"
mkdir -p "$folder/root/etc/systemd/system/multi-user.target.wants"
ln -sf /lib/systemd/system/systemd-networkd.service "$folder/root/etc/systemd/system/multi-user.target.wants/"

# Without it, systemd would want the control groups of version 1 where this machine has them, which it may not have.
SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --register=no --keep-unit --network-bridge="$bridge" \
	--console=pipe --directory="$folder/root" --boot
