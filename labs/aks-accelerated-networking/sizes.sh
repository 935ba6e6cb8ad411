#!/bin/sh
# Chooses the sizes of the two pools for a region and a subscription, before anything is made: it asks Azure which sizes
# the subscription may use there, which of them have accelerated networking, and how much of its quota is left. It
# prints the variables of the module, and on standard error why. It changes nothing. It needs `az login`.
#
#   eval "$(sh labs/aks-accelerated-networking/sizes.sh westeurope)"
#
# Both sizes have 4 CPUs, so that the pools differ in as little as possible: 2 nodes each, and one of size_with for AKS
# itself. A family of sizes has a quota of its own, and the region one for all.
set -eu

location=${1:?give a region, for example westeurope}
cpus=4 with_nodes=3 without_nodes=2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Without --all, az leaves out what the subscription may not use. A size can be restricted in some zones alone.
az vm list-skus --location "$location" --resource-type virtualMachines --only-show-errors --output tsv --query \
	"[?!restrictions || !restrictions[?type=='Location']].[name, family,
	capabilities[?name=='vCPUs'].value | [0], capabilities[?name=='AcceleratedNetworkingEnabled'].value | [0],
	capabilities[?name=='CpuArchitectureType'].value | [0]]" >"$work/sizes"
az vm list-usage --location "$location" --only-show-errors --output tsv \
	--query "[].[name.value, currentValue, limit]" >"$work/usage"

# left prints how many vCPUs of a quota are not used: of a family, or of the region (cores).
left() {
	awk -F '\t' -v name="$1" 'tolower($1) == tolower(name) { print $3 - $2; found = 1 } END { if (!found) print 0 }' \
		"$work/usage"
}

# choose prints the first size in an order of preference that has accelerated networking or not, and whose family has
# quota for a number of nodes. $1 is True or False, $2 how many nodes, the others are beginnings of names, without
# Standard_.
choose() {
	accelerated=$1 nodes=$2
	shift 2
	for beginning; do
		while IFS='	' read -r name family count has architecture; do
			[ "$count" = "$cpus" ] && [ "$has" = "$accelerated" ] && [ "$architecture" != Arm64 ] || continue
			case $name in "Standard_$beginning"*) ;; *) continue ;; esac
			free=$(left "$family")
			if [ "$free" -ge $((cpus * nodes)) ]; then
				echo "$name: accelerated networking $has; $nodes nodes take $((cpus * nodes)) of the $free vCPUs" \
					"that are left of $family" >&2
				echo "$name"
				return
			fi
			echo "$name: no: $nodes nodes take $((cpus * nodes)) vCPUs, and $free are left of $family" >&2
		done <"$work/sizes"
	done
	echo "no size with $cpus CPUs and accelerated networking $accelerated can be used in $location: take another" \
		"region, or ask for a quota" >&2
	return 1
}

all=$((cpus * (with_nodes + without_nodes))) free=$(left cores)
if [ "$free" -lt "$all" ]; then
	echo "the quota of all sizes in $location has $free vCPUs left, and the pools take $all: ask for more" >&2
	exit 1
fi
# A size that can burst has credits of CPU time, which can end while it is measured: it is the last choice.
with=$(choose True "$with_nodes" D4as_v5 D4s_v5 D E F)
without=$(choose False "$without_nodes" D E F A B)
echo "export TF_VAR_location=$location TF_VAR_size_with=$with TF_VAR_size_without=$without"
