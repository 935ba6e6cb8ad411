package deploy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/reach"
)

// portProblems says which sockets the client did not reach, by outcome, and which rules would open them.
func portProblems(b blocked, results []reach.Result) []string {
	var problems []string
	for _, o := range []reach.Outcome{reach.Refused, reach.TimedOut, reach.Unreachable, reach.Foreign, reach.Failed} {
		var sockets []host.Socket
		detail := ""
		for _, r := range results {
			if r.Outcome == o {
				sockets = append(sockets, r.Socket)
				detail = r.Detail
			}
		}
		if len(sockets) > 0 {
			problems = append(problems, b.problem(o, sockets, detail))
		}
	}
	return problems
}

// problem is the text for sockets that failed in the same way, with a line for each advice.
func (b blocked) problem(o reach.Outcome, sockets []host.Socket, detail string) string {
	text := fmt.Sprintf("%s does not reach %s (%v) on %s: ", b.client, b.server, b.at, portsText(sockets))
	var advice []string
	onHost := "on " + b.server + ": " + b.rule(sockets)
	switch o {
	case reach.Refused:
		text += "refused, though the port is open on the host"
		advice = []string{onHost, "or another machine has this address: set 'address:' of " + b.server}
	case reach.TimedOut:
		text += fmt.Sprintf("nothing came back within %v (timed out)", reach.Timeout)
		advice = []string{fmt.Sprintf("in a cloud: allow inbound %s from %s in the security group (AWS, GCP: firewall "+
			"rule; Azure: NSG) of %s", portsText(sockets), b.source(), b.server), onHost}
	case reach.Unreachable:
		text += "unreachable (" + clipped(detail) + ")"
		advice = []string{"check the route from " + b.client + " to this address, or set 'address:' of " + b.server,
			onHost + " (some firewalls answer so)"}
	case reach.Foreign:
		text += "connected, but to something else"
		advice = []string{"another machine or a proxy answers at this address: set 'address:' of " + b.server}
	default:
		text += clipped(detail)
	}
	if b.pods {
		advice = []string{"with pods: a network policy of the cluster or of its CNI can deny the traffic " +
			"(networkPolicy: open admits it), and so can a firewall or security group between the nodes"}
	}
	for _, line := range advice {
		text += "\n    " + line
	}
	return text
}

// clipped bounds a text that comes from a host.
func clipped(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}

// source is the sender's address for people; it may not be known.
func (b blocked) source() string {
	if b.from.IsValid() && !b.from.IsUnspecified() {
		return b.from.String()
	}
	return b.client
}

// rule is the command that opens the sockets in the firewall that the server's system usually has.
func (b blocked) rule(sockets []host.Socket) string {
	var commands []string
	each := func(command, separator, then string) string {
		for _, protocol := range []string{"tcp", "udp"} {
			for _, ports := range ranges(portsOf(sockets, protocol), separator) {
				words := strings.NewReplacer("{protocol}", protocol, "{PROTOCOL}", strings.ToUpper(protocol), "{ports}", ports)
				commands = append(commands, words.Replace(command))
			}
		}
		return strings.Join(commands, then)
	}
	from := ""
	if b.from.IsValid() && !b.from.IsUnspecified() {
		from = b.from.String()
	}
	if b.facts.System.OS == "windows" {
		source := ""
		if from != "" {
			source = " -RemoteAddress " + from
		}
		return "(PowerShell, as administrator) " + each("New-NetFirewallRule -DisplayName nearfar -Direction Inbound "+
			"-Action Allow -Protocol {PROTOCOL} -LocalPort {ports}"+source, "-", "; ")
	}
	families := strings.Fields(strings.ToLower(b.facts.Release["ID"] + " " + b.facts.Release["ID_LIKE"]))
	is := func(names ...string) bool {
		return slices.ContainsFunc(families, func(f string) bool { return slices.Contains(names, f) })
	}
	switch {
	case is("ubuntu"):
		return each("sudo ufw allow proto {protocol} from "+cmp.Or(from, "any")+" to any port {ports}", ":", " && ")
	case is("rhel", "centos", "fedora", "suse", "opensuse", "sles", "amzn"):
		return each("sudo firewall-cmd --add-port={ports}/{protocol}", "-", " && ")
	}
	source := ""
	if from != "" {
		source = family(b.from) + " saddr " + from + " "
	}
	return each("sudo nft insert rule inet filter input "+source+"{protocol} dport {ports} accept", "-", " && ")
}

func family(a netip.Addr) string {
	if a.Is4() {
		return "ip"
	}
	return "ip6"
}

// portsOf are the ports of a protocol in ascending order.
func portsOf(sockets []host.Socket, protocol string) (ports []int) {
	for _, s := range sockets {
		if s.Protocol == protocol {
			ports = append(ports, s.Port)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// ranges writes ascending ports as single ports and ranges.
func ranges(ports []int, separator string) (all []string) {
	for i := 0; i < len(ports); {
		last := i
		for last+1 < len(ports) && ports[last+1] == ports[last]+1 {
			last++
		}
		text := strconv.Itoa(ports[i])
		if last > i {
			text += separator + strconv.Itoa(ports[last])
		}
		all = append(all, text)
		i = last + 1
	}
	return all
}

// portsText is "TCP 7777-7778 and UDP 7777".
func portsText(sockets []host.Socket) string {
	var parts []string
	for _, protocol := range []string{"tcp", "udp"} {
		if ports := portsOf(sockets, protocol); len(ports) > 0 {
			parts = append(parts, strings.ToUpper(protocol)+" "+strings.Join(ranges(ports, "-"), ", "))
		}
	}
	return strings.Join(parts, " and ")
}
