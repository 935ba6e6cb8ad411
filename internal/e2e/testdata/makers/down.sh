#!/bin/sh
set -eu
[ -n "$token" ]
for vm in $(cat "$CLOUD/names"); do
	if [ -e "$CLOUD/machines/$vm.json" ]; then
		echo "deleting $vm" >&2
		cloud delete "$vm"
	fi
done
