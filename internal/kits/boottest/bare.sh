# Holds a bare system, in which a test types commands. The test runs it in a mount and a process namespace of its own.
#
#   $1 the root   $2 a folder of this system
set -eu
root=$1 folder=$2

# The root is shared. What this system changes is in its folder.
mkdir -p "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay -o "lowerdir=$root,upperdir=$folder/upper,workdir=$folder/work" overlay "$folder/root"
mount -t proc proc "$folder/root/proc"
mount --rbind /sys "$folder/root/sys"
mount --rbind /dev "$folder/root/dev"
cp -L /etc/resolv.conf "$folder/root/etc/resolv.conf"
echo ready
exec sleep infinity
