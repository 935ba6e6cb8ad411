#!/bin/sh
# Makes the VMs of this lab with the Azure CLI, as the article does: a virtual network with a subnet for the front end
# and one for the back end, a proximity placement group, and for each arm two VMs with Windows, each in an availability
# set. It can be repeated: it does not make again what is there.
#
# nearfar gives it NEARFAR_OWNER, NEARFAR_RUN, NEARFAR_EXPIRES and NEARFAR_HOSTS, and these variables of the experiment
# file, which ../tofu has too:
#
#   admin_password   password of the user on Windows; ssh uses the key
#   public_key       public key of that user, as in ~/.ssh/id_ed25519.pub
#   latte_sha256     SHA-256 of latte.exe, from your own download of latte_url: the VMs refuse any other file
#   ssh_from         from where ssh is allowed, such as 203.0.113.7/32
#   arms             default: neither accelerated proximity proximity-accelerated
#   location, size, admin, image, latte_url
set -eu
here=$(cd "$(dirname "$0")" && pwd)

: "${NEARFAR_OWNER:?}" "${NEARFAR_RUN:?}" "${NEARFAR_EXPIRES:?}" "${NEARFAR_HOSTS:?}"
: "${admin_password:?}" "${public_key:?}" "${ssh_from:?}"
: "${latte_sha256:?download latte yourself, and give what sha256sum says of it (README.md)}"
latte_sha256=$(printf '%s' "$latte_sha256" | tr 'A-F' 'a-f')
case $latte_sha256 in
*[!0-9a-f]*) hash=wrong ;;
*) hash=${#latte_sha256} ;;
esac
if [ "$hash" != 64 ]; then
	echo "latte_sha256 is no SHA-256: it has 64 digits from 0 to f" >&2
	exit 1
fi
# nearfar gives a list as JSON.
arms=$(printf '%s' "${arms:-neither accelerated proximity proximity-accelerated}" | tr '",[]' '    ')
location=${location:-australiaeast}
size=${size:-Standard_D4as_v5}
admin=${admin:-azureuser}
image=${image:-MicrosoftWindowsServer:WindowsServer:2022-datacenter:latest}
latte_url=${latte_url:-https://github.com/microsoft/latte/releases/download/v0/latte.exe}
# The name of a group does not end with a period.
group=nearfar-$(printf '%s' "$NEARFAR_RUN" | sed 's/\.*$//')

say() {
	echo "$*" >&2
}

# tagged runs az on the group, with the tags of the run. It prints errors alone.
tagged() {
	az "$@" --resource-group "$group" --only-show-errors --output none --tags \
		"nearfar_owner=$NEARFAR_OWNER" "nearfar_run=$NEARFAR_RUN" "nearfar_expires=$NEARFAR_EXPIRES"
}

# plain runs az on the group for resources without tags: parts of other resources.
plain() {
	az "$@" --resource-group "$group" --only-show-errors --output none
}

# filled prints the script that a VM runs when it starts for the first time.
filled() {
	escaped() { printf '%s' "$1" | sed 's/[|&\\]/\\&/g'; }
	sed -e "s|\${expires}|$(escaped "$NEARFAR_EXPIRES")|g" -e "s|\${public_key}|$(escaped "$public_key")|g" \
		-e "s|\${latte_url}|$(escaped "$latte_url")|g" -e "s|\${latte_sha256}|$latte_sha256|g" "$here/../tofu/setup.ps1"
}

# on says whether an arm has a word in its name.
on() {
	case $1 in *"$2"*) echo true ;; *) echo false ;; esac
}

# vm makes one VM and what belongs to it. Names of computers have at most 15 characters on Windows.
vm() {
	arm=$1 tier=$2 name=$1-$2
	computer=$(printf '%s' "$name" | sed -e s/proximity/ppg/ -e s/accelerated/an/ -e s/neither/none/)
	in_group=
	[ "$(on "$arm" proximity)" = false ] || in_group="--ppg nearfar"
	# A VM that was refused stays as failed. Another attempt can have another size.
	there=$(printf '%s\n' "$machines" | sed -n "s/^$name	//p")
	case $there in
	"Succeeded	$size")
		say "$name is there"
		return
		;;
	?*)
		say "$name is $there: deleting it"
		plain vm delete --name "$name" --yes
		;;
	esac
	say "$name: address, interface, availability set"
	tagged network public-ip create --name "$name" --sku Standard --allocation-method Static
	tagged network nic create --name "$name" --vnet-name nearfar --subnet "$tier" --public-ip-address "$name" \
		--accelerated-networking "$(on "$arm" accelerated)"
	# shellcheck disable=SC2086 # no word or two
	tagged vm availability-set create --name "$name" --platform-fault-domain-count 2 $in_group
	say "$name: VM of size $size"
	# The password goes over standard input: all users of this machine can read arguments.
	# shellcheck disable=SC2086
	printf '%s' "$admin_password" | tagged vm create --name "$name" --computer-name "$computer" --size "$size" \
		--image "$image" --availability-set "$name" $in_group --nics "$name" --admin-username "$admin" \
		--admin-password @- --custom-data "$work/setup.ps1" --os-disk-name "$name" --os-disk-delete-option Delete \
		--storage-sku Standard_LRS
	# The VM shuts itself down when its time is over, which setup.ps1 sees to. This deallocates it: only then its size
	# costs nothing. It is a time of the day, so a ttl of a day or more ends early.
	plain vm auto-shutdown --name "$name" --time "$(printf '%s' "$NEARFAR_EXPIRES" | cut -c 12-13,15-16)"
	say "$name: ssh and latte"
	plain vm extension set --vm-name "$name" --name CustomScriptExtension --publisher Microsoft.Compute \
		--version 1.10 --settings "$work/extension.json"
	say "$name is ready"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What has begun is finished: az cannot take back a request.
trap 'say "interrupted: waiting for what has begun"; wait; exit 130' INT TERM

filled >"$work/setup.ps1"
cat >"$work/extension.json" <<'END'
{"commandToExecute": "powershell -NoProfile -ExecutionPolicy Bypass -Command \"$ErrorActionPreference = 'Stop'; Copy-Item C:\\AzureData\\CustomData.bin C:\\AzureData\\setup.ps1; & C:\\AzureData\\setup.ps1\""}
END

# A group of another owner is not touched. A group in another region is deleted, because groups cannot move.
found=$(az group list --query "[?name=='$group'].[location, tags.nearfar_run, tags.nearfar_owner]" --only-show-errors \
	--output tsv)
case $found in
'') ;;
"$location	$NEARFAR_RUN	$NEARFAR_OWNER") ;;
*"	$NEARFAR_RUN	$NEARFAR_OWNER")
	say "group $group is not in $location: deleting it"
	sh "$here/down.sh"
	;;
*)
	say "group $group exists, and does not have the tags of this run: it has location, run and owner: $found"
	exit 1
	;;
esac
say "latte: $latte_url with the SHA-256 $latte_sha256"
say "group $group in $location"
az group create --name "$group" --location "$location" --only-show-errors --output none --tags \
	"nearfar_owner=$NEARFAR_OWNER" "nearfar_run=$NEARFAR_RUN" "nearfar_expires=$NEARFAR_EXPIRES"

say "network and proximity placement group"
# A network or a set of rules is not created again: Azure would delete the subnets and rules that the request leaves
# out.
made=$(az network nsg list --resource-group "$group" --query "[?name=='nearfar'].name" --only-show-errors --output tsv)
[ -n "$made" ] || tagged network nsg create --name nearfar
plain network nsg rule create --nsg-name nearfar --name ssh --priority 100 --access Allow --protocol Tcp \
	--direction Inbound --source-address-prefixes "$ssh_from" --destination-port-ranges 22
made=$(az network vnet list --resource-group "$group" --query "[?name=='nearfar'].name" --only-show-errors --output tsv)
[ -n "$made" ] || tagged network vnet create --name nearfar --address-prefixes 10.0.0.0/16 --subnet-name front \
	--subnet-prefixes 10.0.0.0/24 --network-security-group nearfar
plain network vnet subnet create --vnet-name nearfar --name back --address-prefixes 10.0.1.0/24 \
	--network-security-group nearfar
tagged ppg create --name nearfar --type Standard

machines=$(az vm list --resource-group "$group" --only-show-errors --output tsv \
	--query "[].[name, provisioningState, hardwareProfile.vmSize]")
jobs=
for arm in $arms; do
	for tier in front back; do
		vm "$arm" "$tier" </dev/null &
		jobs="$jobs $!"
	done
done
failed=0
for job in $jobs; do
	wait "$job" || failed=1
done
[ "$failed" = 0 ] || exit 1

az vm list-ip-addresses --resource-group "$group" --only-show-errors --output tsv --query "[].virtualMachine.[name,
	network.publicIpAddresses[0].ipAddress, network.privateIpAddresses[0]]" >"$work/addresses"
while read -r name public private; do
	printf '%s  "%s": {"ssh": "%s@%s", "address": "%s", "command": "%s", "tools": {"latte": "%s"}}' "${comma-}" "$name" \
		"$admin" "$public" "$private" 'C:\\nearfar\\nearfar-agent.exe --stdio' 'C:\\tools\\latte.exe'
	comma=',
'
done <"$work/addresses" >"$work/hosts"
{
	echo '{'
	cat "$work/hosts"
	printf '\n}\n'
} >"$NEARFAR_HOSTS"
