package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// leastIPv6 is the smallest MTU in bytes with which a link carries IPv6 (RFC 8200, section 5).
const leastIPv6 = 1280

// ip reads the version of IP.
func (r *reader) ip(f fields) int {
	v, ok := r.optional(f, "ip")
	if !ok || !r.isScalar(v.value, "ip", "6") {
		return IPv4
	}
	version, err := strconv.Atoi(v.value.Value)
	if err != nil || v.value.ShortTag() != "!!int" {
		r.wrong(v.value, ipVersions, "ip must be a plain whole number, not %s", quote(v.value.Value))
		return IPv4
	}
	return version
}

const ipVersions = "write 4 or 6"

// checkIP checks the version of IP. Imported results do not say theirs.
func checkIP(c *checker, can capability, w Workload) {
	switch {
	case w.IP == 0 && !c.given("ip"), w.IP == IPv4:
	case w.IP != IPv6:
		c.wrong(value("ip"), ipVersions, "ip cannot be %d", w.IP)
	case can.OnlyIPv4 != "":
		c.wrong(value("ip"), "leave it out, or measure with "+strings.Join(can.others.ofIPv6(), ", "),
			"%s does not speak IPv6 (%s)", can.tool, can.OnlyIPv4)
	}
}

// ofIPv6 lists the tools that support IPv6.
func (t Tools) ofIPv6() []string {
	all := slices.DeleteFunc(t.all(), func(c capability) bool { return c.OnlyIPv4 != "" })
	return distinct(all, func(c capability) string { return c.tool })
}

// carried checks that every arm can carry the workload's version of IP.
func (r *reader) carried(w Workload, f fields, arms []Arm) {
	v, given := f.named["ip"]
	if !given || w.IP != IPv6 {
		return
	}
	for _, a := range arms {
		if a.Lab == nil {
			continue
		}
		least := leastIPv6
		if a.Lab.has(VTEP) {
			least += vxlanBytes
		}
		if a.Lab.MTU < least {
			r.wrong(v.value, fmt.Sprintf("give it an mtu of %d or more, or leave ip out", least),
				"arm %s has an mtu of %d, which is too small for IPv6", quote(a.Name), a.Lab.MTU)
		}
	}
}
