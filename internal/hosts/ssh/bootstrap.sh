# Prepares the agent's folder and becomes the agent. Variables that are set before: mark, id, folder, again, sudo.
# Every line for nearfar begins with $mark; fields are separated by tabs. Messages of programs are in English.

say() {
	line=$mark
	for field in "$@"; do line="$line	$(printf %s "$field" | tr '\n\t' '  ')"; done
	printf '%s\n' "$line"
}

# quit STEP TEXT says what failed.
quit() {
	say failed "$@"
	exit 1
}

become() {
	trap - EXIT
	umask "$mask"
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
	export PATH
	cd / || exit 1
	say ready "$dir"
	program=$dir/nearfar-agent
	if [ -n "$sudo" ]; then
		# The agent of root takes no folder of another user, but makes one in it.
		exec sudo -n -- "$program" --stdio --folder "$dir/root" --remove "$program" --remove "$dir"
	fi
	exec "$program" --stdio --folder "$dir" --remove "$program"
}

# usable BASE makes the agent's folder in BASE, and runs a program in it. It says what forbids that.
usable() {
	dir=$1/nearfar-$id
	if [ ${#dir} -gt 90 ]; then
		say unusable "$1" length
		return 1
	fi
	if ! out=$(LC_ALL=C mkdir -m 700 "$dir" 2>&1); then
		say unusable "$1" make "$out"
		return 1
	fi
	made=$dir
	probe=$dir/probe
	if ! out=$(LC_ALL=C; export LC_ALL; {
		printf '#!/bin/sh\nexit 0\n' | cat >"$probe" && chmod 700 "$probe"
	} 2>&1); then
		say unusable "$1" write "$out"
	elif ! out=$(LC_ALL=C "$probe" 2>&1); then
		say unusable "$1" execute "$out"
	else
		rm -f "$probe"
		return 0
	fi
	rm -rf "$dir"
	made=
	return 1
}

# store HOW LENGTH SIZE SUM reads the agent from standard input.
store() {
	new=$dir/new
	if ! out=$(LC_ALL=C; export LC_ALL; {
		case $1 in
		gzip) head -c "$2" | gzip -dc >"$new" ;;
		*) head -c "$2" >"$new" ;;
		esac && chmod 700 "$new"
	} 2>&1); then
		quit write "$out"
	fi
	size=$(wc -c <"$new")
	[ "$size" -eq "$3" ] || quit write "$size bytes were stored of $3"
	if command -v sha256sum >/dev/null; then
		sum=$(sha256sum <"$new")
		[ "${sum%% *}" = "$4" ] || quit hash "${sum%% *}"
	fi
	out=$(LC_ALL=C "$new" version 2>&1) || quit start "$out"
	out=$(LC_ALL=C mv "$new" "$dir/nearfar-agent" 2>&1) || quit write "$out"
	say stored
}

made=
mask=$(umask)
umask 077
trap '[ -z "$made" ] || rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM PIPE
if [ "$(id -u)" = 0 ]; then sudo=; fi

if [ -n "$again" ]; then
	dir=$again
	if [ ! -O "$dir" ] || [ -h "$dir" ] || [ ! -x "$dir/nearfar-agent" ]; then
		say gone
		exit 1
	fi
	become
fi

say system "$(uname -s)" "$(uname -m)"
read -r sum size packed || exit 1

dir=
if [ -n "$folder" ]; then
	case $folder in
	'~' | '~/'*) folder=$HOME${folder#?} ;;
	/*) ;;
	*) folder=$(pwd)/$folder ;;
	esac
	if ! out=$(LC_ALL=C mkdir -p "$folder" 2>&1); then
		say unusable "$folder" make "$out"
		quit folder
	fi
	usable "$folder" || quit folder
else
	found=
	home=${XDG_CACHE_HOME:-$HOME/.cache}
	[ -d "$home" ] || home=$HOME
	for base in "$home" "${TMPDIR:-/tmp}" /tmp /var/tmp; do
		[ -d "$base" ] || continue
		if usable "$base"; then
			found=1
			break
		fi
	done
	[ -n "$found" ] || quit folder
fi

if command -v gzip >/dev/null; then
	say want gzip
	store gzip "$packed" "$size" "$sum"
else
	say want plain
	store plain "$size" "$size" "$sum"
fi

if [ -n "$sudo" ]; then
	out=$(LC_ALL=C sudo -n -- "$dir/nearfar-agent" version 2>&1) || quit sudo "$out"
fi
become
