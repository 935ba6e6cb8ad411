#!/bin/sh
# Deletes what up.sh has made: the resource groups that have the tags of this run, with all that is in them. up.sh makes
# everything in one such group, and takes no group that it has not made. It can be repeated.
#
# nearfar gives it NEARFAR_OWNER and NEARFAR_RUN.
set -eu

: "${NEARFAR_OWNER:?}" "${NEARFAR_RUN:?}"

groups=$(az group list --tag "nearfar_run=$NEARFAR_RUN" --query "[].[name, tags.nearfar_owner]" --only-show-errors \
	--output tsv)
[ -n "$groups" ] || exit 0
while IFS='	' read -r group owner; do
	if [ "$owner" != "$NEARFAR_OWNER" ]; then
		echo "group $group belongs to $owner: it stays" >&2
		continue
	fi
	echo "deleting group $group" >&2
	az group delete --name "$group" --yes --only-show-errors --output none </dev/null
done <<END
$groups
END
