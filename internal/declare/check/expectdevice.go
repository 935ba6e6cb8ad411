package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// device is the device by which this side's packets leave, with its counters during the trial. The finding says why one
// of them is not known, and is nil otherwise.
func (s one) device() (*Device, *DeviceCounters, *finding) {
	var f finding
	switch {
	case s.Facts == nil:
		f = unknown("there are no facts of the host")
	case s.Facts.OnPath() == nil:
		f = unknown("the device of the path is not known")
	case s.Facts.Path.Local:
		f = unknown("both sides are the same host: packets leave by no device")
	case s.Counters == nil:
		f = unknown("%s was not counted during the trial", s.Facts.OnPath().Name)
	case s.Counters.Device(s.Facts.OnPath().Name) == nil:
		f = unknown("%s is not in both readings of the counters", s.Facts.OnPath().Name)
	default:
		on := s.Facts.OnPath()
		return on, s.Counters.Device(on.Name), nil
	}
	return nil, nil, &f
}

// virtual says that a device is made by the kernel, so that the hardware behind it is not visible here.
func (d *Device) virtual() bool {
	return d.Kind != "" || slices.Contains([]string{"veth", "tun", "bridge", "macvlan", "ipvlan", "bond"}, d.Driver)
}

// hidden is the finding of a question about the hardware behind a virtual device.
func (d *Device) hidden() finding {
	return unknown("%s is a virtual device (%s): the hardware behind it is not visible here", d.Name, d.kind())
}

// functionDrivers are the drivers of virtual functions on Azure: Mellanox cards and Microsoft's own (MANA). Source:
// Azure's documentation, "How Accelerated Networking works in Linux and FreeBSD VMs".
func functionDrivers() []string { return []string{"mlx4_core", "mlx4_en", "mlx5_core", "mana"} }

// function is the virtual function that is enslaved to a device; nil if there is none.
func (f *Facts) function(d *Device) *Device {
	for _, below := range f.EnslavedTo(d) {
		if slices.Contains(functionDrivers(), below.Driver) {
			return below
		}
	}
	return nil
}

const netvsc = "hv_netvsc"

// accelerated asks whether a side's traffic went through the virtual function of Azure's accelerated networking. The
// netvsc device counts all packets, and also counts the packets of the virtual function separately
// (drivers/net/hyperv/netvsc_drv.c, netvsc_get_stats64 and vf_*). The difference took the synthetic path.
//
// Azure's configuration, if it was asked for, is in the evidence and changes no outcome: a machine can be configured
// for it and not have it.
func accelerated(s one) finding {
	f := acceleratedPath(s)
	if s.Facts != nil {
		if configured := s.Facts.Provider.configured(); configured != "" {
			f.evidence += "; " + configured
		}
	}
	return f
}

func acceleratedPath(s one) finding {
	if s.Facts != nil && s.Facts.OnPath() != nil && !s.Facts.Path.Local {
		on := s.Facts.OnPath()
		vf := s.Facts.function(on)
		switch {
		case on.virtual():
			return on.hidden()
		case windowsSynthetic(on.Driver):
			return s.acceleratedOnWindows(on)
		case on.Driver != netvsc:
			return unknown("%s has the driver %q, and accelerated networking is proved below %s alone", on.Name,
				on.Driver, netvsc)
		case vf == nil && s.Counters.Device(on.Name).functionPackets() == 0:
			if s.switched(on) {
				return unknown("the virtual function of %s came or went during the trial", on.Name)
			}
			f := verdict(false, "%s has the driver %s, and no virtual function is enslaved to it", on.Name, netvsc)
			// Without its counters it is not known whether the function came later.
			f.oneWay = !s.Counters.Device(on.Name).withoutFunction()
			return f
		case s.protocol == "icmp":
			return unknown("ICMP takes the synthetic path of %s in any case, so it cannot show whether the virtual "+
				"function works", on.Name)
		}
	}
	on, counted, why := s.device()
	if why != nil {
		return *why
	}
	name := "a virtual function"
	if vf := s.Facts.function(on); vf != nil {
		name = vf.Driver + " " + vf.Name
	}
	if s.switched(on) {
		return finding{outcome: Refuted, partly: true,
			evidence: fmt.Sprintf("the virtual function of %s came or went during the trial", on.Name)}
	}
	if !counted.Known {
		return unknown("the counters of %s were reset during the trial", on.Name)
	}
	sent := throughFunction(counted, "tx", counted.TxBytes, counted.TxPackets, s.Sent)
	got := throughFunction(counted, "rx", counted.RxBytes, counted.RxPackets, s.received)
	f := joinDirections(sent, got)
	f.evidence = fmt.Sprintf("%s below %s: %s", name, on.Name, f.evidence)
	return f
}

// windowsSynthetic says whether a driver is the synthetic device of Hyper-V on Windows; Windows numbers further ones
// ("... #2").
func windowsSynthetic(driver string) bool {
	return strings.HasPrefix(driver, "Microsoft Hyper-V Network Adapter")
}

// windowsFunction says whether a driver of Windows is of a virtual function of Azure: Mellanox' or Microsoft's own
// (MANA).
func windowsFunction(driver string) bool {
	return strings.Contains(driver, "Mellanox") || strings.HasPrefix(driver, "Microsoft Azure Network Adapter")
}

// acceleratedOnWindows says what a Windows host shows. That no virtual function is attached refutes. One that is
// attached proves nothing yet: whether the synthetic device also counts what the function carries is not documented, so
// that the counters cannot show that the trial took no other way.
func (s one) acceleratedOnWindows(on *Device) finding {
	var function *Device
	for _, below := range s.Facts.EnslavedTo(on) {
		if windowsFunction(below.Driver) {
			function = below
		}
	}
	if function == nil {
		f := verdict(false, "%s is %s, and no virtual function has its address", on.Name, on.Driver)
		f.oneWay = true // it may have come later
		return f
	}
	text := fmt.Sprintf("%s %s has the address of %s", function.Driver, function.Name, on.Name)
	if c := s.Counters.Device(function.Name); c != nil && c.Known {
		text += fmt.Sprintf(", and carried %d bytes in %d packets out and %d bytes in %d packets in while the trial sent at "+
			"least %d and received at least %d bytes", c.TxBytes, c.TxPackets, c.RxBytes, c.RxPackets, s.Sent.Bytes,
			s.received.Bytes)
	}
	return unknown("%s: it is attached, and Windows' counters do not show what else the trial could have used", text)
}

func (s one) switched(on *Device) bool {
	return s.Counters != nil && slices.Contains(s.Counters.Switched, on.Name)
}

// functionPackets is how many packets the virtual function carried, by the synthetic device's counters.
func (d *DeviceCounters) functionPackets() uint64 {
	if d == nil {
		return 0
	}
	return d.Own["vf_tx_packets"] + d.Own["vf_rx_packets"]
}

// withoutFunction says that the counters show that no virtual function carried packets. It is false if they are missing
// or were reset.
func (d *DeviceCounters) withoutFunction() bool {
	if d == nil || !d.Known {
		return false
	}
	for _, name := range []string{"vf_tx_packets", "vf_rx_packets"} {
		if n, ok := d.Own[name]; !ok || n > 0 {
			return false
		}
	}
	return true
}

// throughFunction asks whether the virtual function carried the packets of one direction. The answer is yes if it
// carried at least as much as was sent, and the synthetic path carried too little for a part of it. Then other traffic
// of the host cannot be mistaken for the trial's.
func throughFunction(d *DeviceCounters, direction string, bytes, packets uint64, a Amount) finding {
	verb := map[string]string{"tx": "sent", "rx": "received"}[direction]
	if a.Bytes == 0 && a.Packets == 0 {
		return finding{}
	}
	vfBytes, hasBytes := d.Own["vf_"+direction+"_bytes"]
	vfPackets, hasPackets := d.Own["vf_"+direction+"_packets"]
	if !hasBytes || !hasPackets {
		return unknown("the driver does not count what its virtual function %s", verb)
	}
	// The function's counters are read after the device's: packets that pass in between are only in the function's.
	if vfBytes > bytes && below(vfBytes-bytes, carrySkew, a.Bytes) {
		bytes = vfBytes
		packets = max(packets, vfPackets)
	}
	if vfBytes > bytes || vfPackets > packets {
		return unknown("the counters contradict each other: %d bytes %s in all, %d of them by the virtual function",
			bytes, verb, vfBytes)
	}
	synthetic := bytes - vfBytes
	text := fmt.Sprintf("it carried %d bytes in %d packets, and the synthetic path %d bytes in %d packets, of at "+
		"least %d bytes that the trial %s", vfBytes, vfPackets, synthetic, packets-vfPackets, a.Bytes, verb)
	switch {
	case below(vfBytes, carryNone, a.Bytes) && below(vfPackets, carryNone, max(a.Packets, 1)):
		// If the synthetic path did not carry the trial either, the trial went another way.
		return finding{outcome: Refuted, evidence: text, oneWay: below(synthetic, carrySufficient, a.Bytes)}
	case below(vfBytes, carrySufficient, a.Bytes) || below(vfPackets, carrySufficient, a.Packets):
		return finding{outcome: Refuted, partly: true, evidence: text}
	case float64(synthetic) > carryNone*float64(a.Bytes) ||
		a.Packets > 0 && float64(packets-vfPackets) > carryNone*float64(a.Packets):
		return unknown("%s: the synthetic path may have carried a part of the trial", text)
	}
	return finding{outcome: Proved, evidence: text}
}

// below is false if nothing is wanted.
func below(got uint64, share float64, of uint64) bool { return float64(got) < share*float64(of) }

// joinDirections joins the findings of the sent and the received packets. A direction in which the trial sent nothing
// has no outcome.
func joinDirections(sent, got finding) finding {
	switch {
	case sent.outcome == "" && got.outcome == "":
		return unknown("it is not known how much the trial sent")
	case sent.outcome == "":
		return got
	case got.outcome == "":
		return sent
	}
	f := join(sent, got)
	f.evidence = sent.evidence + "; " + got.evidence
	return f
}

// kind names what a device is.
func (d *Device) kind() string { return cmp.Or(d.Kind, d.Driver) }

// enaExpress asks whether a side's packets went through SRD. The modes are those of the EC2 User Guide, "Monitor
// network performance for ENA settings": 1 is on for TCP, 3 is on for TCP and UDP, 2 is off.
func enaExpress(s one) finding {
	if s.Facts != nil && s.Facts.OnPath() != nil && !s.Facts.Path.Local {
		if on := s.Facts.OnPath(); on.Driver != "ena" {
			switch {
			case on.virtual():
				return on.hidden()
			case on.Driver == "":
				return unknown("the driver of %s is not known", on.Name)
			}
			return verdict(false, "%s has the driver %q, not ena", on.Name, on.Driver)
		}
	}
	on, d, why := s.device()
	if why != nil {
		return *why
	}
	mode, ok := d.Own["ena_srd_mode"]
	if !ok {
		return unknown("%s does not show one ena_srd_mode during the trial", on.Name)
	}
	if !d.Known {
		return unknown("the counters of %s were reset during the trial", on.Name)
	}
	if mode > 3 {
		return unknown("ena_srd_mode of %s is %d, which is not known here", on.Name, mode)
	}
	if mode != 3 && (mode != 1 || s.protocol != "tcp") {
		return verdict(false, "ena_srd_mode of %s is %d, so %s does not use SRD", on.Name, mode, s.protocol)
	}
	f := joinDirections(
		s.srd(on, d, srdWay{trial: s.Sent, bytes: d.TxBytes, packets: d.TxPackets, counter: "ena_srd_tx_pkts",
			eligible: "ena_srd_eligible_tx_pkts", moved: "left", did: "sent"}),
		s.srd(on, d, srdWay{trial: s.received, bytes: d.RxBytes, packets: d.RxPackets, counter: "ena_srd_rx_pkts",
			moved: "arrived", did: "received"}))
	f.evidence = fmt.Sprintf("ena_srd_mode of %s is %d; %s", on.Name, mode, f.evidence)
	return f
}

// srdWay is one direction of a device's traffic.
type srdWay struct {
	trial          Amount
	bytes, packets uint64 // of the device
	// counter counts the packets of SRD; eligible counts packets that could have used it, and is empty in the direction
	// in which the driver does not count them.
	counter, eligible string
	moved, did        string // words for the evidence: "left", "sent"
}

// srd compares the packets of SRD with the packets of the trial and with the packets that could have used SRD. If the
// device carried much more than the trial, there is no verdict, because the SRD packets could be other traffic.
func (s one) srd(on *Device, d *DeviceCounters, w srdWay) finding {
	least := w.trial.wire(on.MTU)
	if least == 0 {
		return finding{}
	}
	got, ok := d.Own[w.counter]
	could, counted := d.Own[w.eligible]
	if !ok || w.eligible != "" && !counted {
		return unknown("the driver does not count packets of SRD")
	}
	text := fmt.Sprintf("%d packets %s by SRD", got, w.moved)
	if w.eligible != "" {
		text += fmt.Sprintf(" of %d that could", could)
	}
	text += fmt.Sprintf(", where the trial %s at least %d", w.did, least)
	switch {
	case below(got, carryNone, least):
		return finding{outcome: Refuted, evidence: text}
	case below(got, carrySufficient, least):
		return finding{outcome: Refuted, partly: true, evidence: text}
	case s.crowded(w.bytes, w.packets, w.trial):
		return unknown("%s: other traffic of the device hides whether they were the trial's", text)
	case w.eligible != "" && (below(got, carrySufficient, could) || below(got, carrySufficient, w.packets)):
		return finding{outcome: Refuted, oneWay: true, evidence: text + fmt.Sprintf(", and %d packets %s in all",
			w.packets, w.moved)}
	}
	return finding{outcome: Proved, evidence: text}
}

// maxHeaders is more than the headers of a packet of TCP over IPv6 with options, in bytes.
const maxHeaders = 150

// crowded says that a device carried more than half as much again as the trial.
func (one) crowded(bytes, packets uint64, a Amount) bool {
	return float64(bytes) > 1.5*float64(a.Bytes)+maxHeaders*float64(packets) ||
		a.Packets > 0 && float64(packets) > 3*float64(a.Packets)
}

// wire is how many packets there are on the wire at least.
func (a Amount) wire(mtu int) uint64 {
	if mtu <= 0 {
		return a.Packets
	}
	return max(a.Packets, (a.Bytes+uint64(mtu)-1)/uint64(mtu))
}

// carried asks whether a device carried at least what the trial sent, in both directions.
func (s one) carried(d *DeviceCounters) finding {
	switch {
	case !d.Known:
		return unknown("its counters were reset during the trial")
	case s.Sent.Bytes == 0 && s.received.Bytes == 0:
		return unknown("it is not known how much the trial sent")
	}
	text := fmt.Sprintf("%d bytes left by it and %d arrived, of at least %d and %d", d.TxBytes, d.RxBytes, s.Sent.Bytes,
		s.received.Bytes)
	return verdict(!below(d.TxBytes, carrySufficient, s.Sent.Bytes) &&
		!below(d.RxBytes, carrySufficient, s.received.Bytes), "%s", text)
}

// driver expects that packets went through a driver: the driver of the path's device, or of its virtual function.
func driver(t Trial, e Expectation) finding {
	want, _ := e.Value.(string)
	return everySide(t, func(s one) finding {
		on, d, why := s.device()
		if why != nil {
			return *why
		}
		vf := s.Facts.function(on)
		switch {
		case vf != nil && (vf.Driver == want || on.Driver == want):
			f := accelerated(s)
			if on.Driver == want {
				return f.not()
			}
			return f
		case on.Driver == want && want == netvsc && !d.withoutFunction():
			// A virtual function can have come after the facts were read. The device counts its packets, too.
			return accelerated(s).not()
		case on.Driver == want:
			f := s.carried(d)
			f.evidence = fmt.Sprintf("%s has the driver %s; %s", on.Name, want, f.evidence)
			return f
		case on.Driver == "":
			return unknown("the driver of %s is not known", on.Name)
		case on.virtual():
			return on.hidden()
		}
		return verdict(false, "%s has the driver %s", on.Name, on.Driver)
	})
}

// mtu expects the MTU of the devices of the path, and that the kernel knows of no smaller one on the way. Before a
// packet was too large the kernel knows of none, so what the trial's own connections say counts too.
func mtu(t Trial, e Expectation) finding {
	n, _ := numeric(e.Value)
	if t.PathMTU > 0 && t.PathMTU < int(n) {
		return verdict(false, "the kernel knew %d for the path of the trial's connections", t.PathMTU)
	}
	return everySide(t, func(s one) finding {
		if s.Facts == nil || s.Facts.OnPath() == nil || s.Facts.OnPath().MTU == 0 {
			return unknown("the MTU of the path's device is not known")
		}
		on := s.Facts.OnPath()
		switch {
		case on.MTU != int(n):
			return verdict(false, "the MTU of %s is %d", on.Name, on.MTU)
		case s.Facts.Path.MTU == 0:
			return unknown("the MTU of %s is %d, and the path's MTU is not known", on.Name, on.MTU)
		}
		return verdict(s.Facts.Path.MTU >= int(n), "the MTU of %s is %d, and the kernel knows %d for the path", on.Name,
			on.MTU, s.Facts.Path.MTU)
	})
}
