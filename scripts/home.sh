#!/bin/sh
# Renames the module, so that `go install MODULE/cmd/nearfar@latest` finds it once it is published there: in go.mod, in
# all imports and other names of packages in Go files, and in the linter's rules. Modules of their own keep their names,
# which nobody imports.
#
#   home.sh HOST/OWNER/nearfar
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
new=${1:-}
case $new in
*.*/*) ;;
*)
	echo "home: which module? make home MODULE=HOST/OWNER/nearfar" >&2
	exit 2
	;;
esac
case $new in
*[!A-Za-z0-9._~/-]* | */ | *//*)
	echo "home: $new is no path of a module" >&2
	exit 2
	;;
esac
old=$($go list -m)
if [ "$old" = "$new" ]; then
	echo "home: the module is $new already"
	exit 0
fi

sources() {
	find . -name node_modules -prune -o -name '*.go' -print
}

# Below the module's name are packages, whose names begin with the names of these folders. "nearfar/run", for example,
# is none of them. What stands before a name of a package is no part of a path.
folders=$(sources | sed -n 's,^\./\([^/]*\)/.*,\1,p' | sort -u | paste -sd '|' -)
pattern=$(echo "$old" | sed 's,[.],\\.,g')
{
	sources
	echo ./.golangci.yml
} | xargs sed -E -i.before -e "s,(^|[^A-Za-z0-9._/-])$pattern/($folders)([^A-Za-z0-9_-]|\$),\1$new/\2\3,g"
sed -E -i.before -e "s,pkg: $pattern/(\,|\$),pkg: $new/\1,g" .golangci.yml
find . -name node_modules -prune -o -name '*.go.before' -exec rm -f {} +
rm -f .golangci.yml.before
$go mod edit -module "$new"
# Imports are sorted by name.
sources | grep -v /testdata/ | xargs gofmt -w
echo "home: the module was $old, and is $new"
