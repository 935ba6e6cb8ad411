package report

import (
	"fmt"
	"strconv"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/captured"
	"nearfar/internal/declare/packets"
)

// capturedNote says what to do with captures.
const capturedNote = "Each captured trial has a pcapng file in the run directory, for Wireshark and for\n" +
	"nearfar import --point (docs/captures.md). The other figures of this report come from\n" +
	"trials that were not captured."

// capturedSection says what was captured.
func capturedSection(a answer.Answer) section {
	out := section{title: "Captures", note: capturedNote}
	for _, c := range a.Captured {
		for _, arm := range c.Arms {
			for _, m := range arm.Machines {
				out.groups = append(out.groups, pointGroup(c, arm, m))
			}
			out.lines = append(out.lines, capturedLine(c, arm))
			out.lines = append(out.lines, untimedLines(c, arm)...)
		}
	}
	return out
}

// pointGroup has a line for each point of a machine.
func pointGroup(c captured.Captured, arm captured.Arm, m captured.Machine) group {
	t := table{head: []string{"point", ">packets", ">dropped"}, named: 1}
	for _, p := range m.Points {
		t.add(p.Name, strconv.Itoa(p.Packets), strconv.FormatUint(p.Dropped, 10))
	}
	where := ""
	if m.Side != packets.Both {
		where = " on the " + m.Side + "'s machine"
	}
	return group{fmt.Sprintf("%s in %s%s, %s", c.Workload, arm.Arm, where, prose.Plural(len(m.Files), "capture")), t}
}

// capturedLine says what capturing costs in an arm.
func capturedLine(c captured.Captured, arm captured.Arm) string {
	s, text := microseconds(), "unknown; see the warnings"
	switch {
	case len(arm.Machines) == 0:
	case arm.Cost == nil || arm.Reported == nil:
		text = "what capturing adds is not known"
	default:
		text = fmt.Sprintf("capturing adds %s us%s to the %s of %s us that is captured", s.Signed(arm.Cost.Median),
			withBounds(arm.Cost.Interval, s.Signed), c.Quantity, s.Number(arm.Reported.Median))
	}
	return printable(c.Workload + " in " + arm.Arm + ": " + text)
}

// untimedLines say at which points packets have no time of their own.
func untimedLines(c captured.Captured, arm captured.Arm) (lines []string) {
	for _, m := range arm.Machines {
		for _, p := range m.Points {
			if p.Untimed > 0 {
				lines = append(lines, printable(fmt.Sprintf("%s in %s: %d packets that came in by %s are left out there: the "+
					"kernel stamped them at the device below", c.Workload, arm.Arm, p.Untimed, p.Name)))
			}
		}
	}
	return lines
}
