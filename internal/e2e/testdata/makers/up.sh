#!/bin/sh
set -eu
[ -n "$token" ]
for vm in $(cat "$CLOUD/names"); do
	echo "creating $vm" >&2
	cloud create "$vm" "${size:-small}" "${zone:-1}" "$NEARFAR_OWNER" "$NEARFAR_RUN" "$NEARFAR_EXPIRES"
done
cat "$CLOUD/hosts.json" >"$NEARFAR_HOSTS"
