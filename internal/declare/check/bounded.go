package check

import (
	"maps"
	"slices"
	"strings"
)

const (
	// maxName bounds the name of a device or a counter, and every other text of counters, in bytes. Linux has names of
	// devices of at most 15 bytes and of counters of at most 31.
	maxName = 64
	// maxOwn bounds the counters of a driver, or of one group of the kernel.
	maxOwn = 64
)

// Bound makes counters that came from a host safe to keep: it bounds how many there are, and replaces what cannot be
// printed in their names.
func (c *Counters) Bound() {
	c.BootID = name(c.BootID)
	c.Devices = c.Devices[:min(len(c.Devices), maxDevices)]
	for i := range c.Devices {
		c.Devices[i].Name = name(c.Devices[i].Name)
		c.Devices[i].Own = named(c.Devices[i].Own)
	}
	c.Protocols, c.Softirq, c.Conntrack = named(c.Protocols), named(c.Softirq), named(c.Conntrack)
	c.Switched = c.Switched[:min(len(c.Switched), maxDevices)]
	for i, of := range c.Switched {
		c.Switched[i] = name(of)
	}
}

// name cuts a text to maxName bytes, and replaces what cannot be printed.
func name(s string) string { return printable(s, maxName) }

// named keeps the first maxOwn counters, in the order of their names.
func named(all map[string]uint64) map[string]uint64 {
	if len(all) == 0 {
		return all
	}
	kept := map[string]uint64{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if len(kept) == maxOwn {
			break
		}
		kept[name(key)] = all[key]
	}
	return kept
}

// Compact gives the counters of a trial without those that did not grow. Devices and counters of virtual functions and
// of SRD stay: it is evidence that they did not grow.
func (c *Counters) Compact() *Counters {
	if c == nil {
		return nil
	}
	d := *c
	d.Protocols, d.Softirq, d.Conntrack = positive(c.Protocols), positive(c.Softirq), positive(c.Conntrack)
	d.Devices = slices.Clone(c.Devices)
	for i := range d.Devices {
		d.Devices[i].Own = positive(d.Devices[i].Own)
	}
	return &d
}

// positive leaves out zeros, except those that are evidence (see Compact).
func positive(all map[string]uint64) map[string]uint64 {
	kept := map[string]uint64{}
	for key, value := range all {
		if value > 0 || strings.HasPrefix(key, "vf_") || strings.HasPrefix(key, "ena_srd_") {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
