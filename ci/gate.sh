#!/bin/sh
# Judges two sides, or one run, with `nearfar gate`, and leaves the result in files for a CI job: gate.md (for a comment
# or a summary), gate.xml (JUnit), gate.json and gate.html (a page). Prints annotations in a job of GitHub, else text.
# Exits with the gate's exit code: 0 passed or inconclusive, 3 failed, 4 an arm is not proved, 1 and 2 mistakes.
#
# It reads these variables; each holds one entry in a line:
#
#   NEARFAR_BASE, NEARFAR_NEW   the sides: runs, arms of runs, outputs of tools, folders of them. Without NEARFAR_NEW,
#                               NEARFAR_BASE is one run, whose arms are compared with its baseline
#   NEARFAR_FAIL_IF             rules that must not hold, such as: rr-1k rtt.p50 > +5%
#   NEARFAR_REQUIRE             rules that must hold
#   NEARFAR_INCONCLUSIVE        what an inconclusive check counts as: pass (default) or fail
#   NEARFAR_OUT                 the folder of the files; by default nearfar-gate
set -eu
nearfar=${NEARFAR:-nearfar}
out=${NEARFAR_OUT:-nearfar-gate}
mkdir -p "$out"

# each calls a command for every line of a text that is not empty.
each() {
	while IFS= read -r line || [ -n "$line" ]; do
		[ -z "$line" ] || "$2" "$line"
	done <<-END
		$1
	END
}

[ -n "${NEARFAR_BASE:-}" ] || { echo "gate.sh: NEARFAR_BASE names no side" >&2; exit 2; }
# The arguments are quoted for the shell: a rule has spaces, and a name may.
arguments=$(mktemp)
trap 'rm -f "$arguments"' EXIT
quoted() { printf "%s\n" "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"; }
side() { printf ' %s' "$(quoted "$1")" >>"$arguments"; }
fail_if() { printf ' --fail-if %s' "$(quoted "$1")" >>"$arguments"; }
require() { printf ' --require %s' "$(quoted "$1")" >>"$arguments"; }
each "$NEARFAR_BASE" side
if [ -n "${NEARFAR_NEW:-}" ]; then
	printf ' --new' >>"$arguments"
	each "$NEARFAR_NEW" side
fi
each "${NEARFAR_FAIL_IF:-}" fail_if
each "${NEARFAR_REQUIRE:-}" require
[ -z "${NEARFAR_INCONCLUSIVE:-}" ] || printf ' --inconclusive %s' "$(quoted "$NEARFAR_INCONCLUSIVE")" >>"$arguments"

# gate judges in one form.
gate() {
	eval "\"\$nearfar\" gate $(cat "$arguments") \"\$@\""
}

code=0
gate -f json -o "$out/gate.json" || code=$?
case $code in
0 | 3 | 4) ;;
*) exit "$code" ;; # the message is on standard error
esac
for form in markdown:gate.md junit:gate.xml html:gate.html; do
	again=0
	gate -f "${form%%:*}" -o "$out/${form#*:}" 2>/dev/null || again=$?
	[ "$again" = "$code" ] || { echo "gate.sh: -f ${form%%:*} ended with $again, and -f json with $code" >&2; exit 1; }
done
form=terminal
[ -z "${GITHUB_ACTIONS:-}" ] || form=github
gate -f "$form" || true
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/gate.md" >>"$GITHUB_STEP_SUMMARY"
exit "$code"
