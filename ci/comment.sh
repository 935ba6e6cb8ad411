#!/bin/sh
# Writes a file as the one comment of this job on a pull request (GitHub) or merge request (GitLab): the first time it
# makes a comment, and later it replaces that one. Does nothing outside of a pull request. Needs curl and jq.
#
#   comment.sh FILE [NAME]     NAME tells the comments of several jobs apart; by default "gate"
#
# It reads the variables that the services set. The token is GITHUB_TOKEN, or for GitLab NEARFAR_GITLAB_TOKEN, a token
# of the project with the scope api. It is in no argument of a program, and in no message.
set -eu
file=$1
name=${2:-gate}
mark="<!-- nearfar: $name -->"
# GitHub takes 65,536 characters, https://docs.github.com/rest/issues/comments; GitLab 1,000,000.
most=60000

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 077

# call METHOD URL [BODY] calls the API, and leaves the answer in $work/answer. What is no success ends the script.
call() {
	{
		printf 'header = "%s"\n' "$authorization"
		printf 'header = "Accept: %s"\n' "$accept"
		printf 'header = "Content-Type: application/json"\n'
	} >"$work/config"
	status=$(curl --silent --show-error --max-time 60 --retry 3 --config "$work/config" --request "$1" \
		${3:+--data-binary @"$3"} --output "$work/answer" --write-out '%{http_code}' "$2") || {
		echo "comment.sh: $1 ${2%%\?*} did not answer" >&2
		exit 1
	}
	case $status in
	2??) ;;
	*)
		echo "comment.sh: $1 ${2%%\?*} answered $status: $(jq -r '.message // .error // empty' "$work/answer" 2>/dev/null |
			head -c 300)" >&2
		exit 1
		;;
	esac
}

# ours prints the number of our comment, "" for none. It reads at most 30 pages of 100.
ours() {
	page=1
	while [ "$page" -le 30 ]; do
		call GET "$list?per_page=100&page=$page"
		jq -r --arg mark "$mark" '[.[] | select(.body | startswith($mark)) | .id][0] // empty' "$work/answer" >"$work/id"
		if [ -s "$work/id" ]; then
			cat "$work/id"
			return
		fi
		[ "$(jq length "$work/answer")" = 100 ] || return 0
		page=$((page + 1))
	done
}

if [ -n "${GITHUB_ACTIONS:-}" ]; then
	number=$(jq -r '.pull_request.number // empty' "${GITHUB_EVENT_PATH:?}")
	[ -n "$number" ] || { echo "comment.sh: no pull request, so no comment" >&2; exit 0; }
	api=${GITHUB_API_URL:?}/repos/${GITHUB_REPOSITORY:?}
	list=$api/issues/$number/comments
	one=$api/issues/comments
	change=PATCH
	authorization="Authorization: Bearer ${GITHUB_TOKEN:?is not set: pass the token of the job}"
	accept=application/vnd.github+json
elif [ -n "${GITLAB_CI:-}" ]; then
	[ -n "${CI_MERGE_REQUEST_IID:-}" ] || { echo "comment.sh: no merge request, so no comment" >&2; exit 0; }
	list=${CI_API_V4_URL:?}/projects/${CI_PROJECT_ID:?}/merge_requests/$CI_MERGE_REQUEST_IID/notes
	one=$list
	change=PUT
	authorization="PRIVATE-TOKEN: ${NEARFAR_GITLAB_TOKEN:?is not set: give a token of the project with the scope api}"
	accept=application/json
else
	echo "comment.sh: neither a job of GitHub nor one of GitLab" >&2
	exit 2
fi

jq -Rs --arg mark "$mark" --argjson most "$most" '{body: ($mark + "\n" + (if length > $most
	then .[:$most] + "\n\nThe rest is in the files of the job." else . end))}' "$file" >"$work/body"
known=$(ours)
if [ -n "$known" ]; then
	call "$change" "$one/$known" "$work/body"
else
	call POST "$list" "$work/body"
fi
