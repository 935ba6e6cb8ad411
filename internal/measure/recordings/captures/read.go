package captures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/pcapfile"
)

// seen is what one file says about a point.
type seen struct {
	packets    int // of the interface
	own        int // of the service
	unreadable map[reason]int
	carried    map[string]int
	truncated  string
	// resolution is the unit of the time stamps in seconds. fine counts those that are no whole microseconds.
	resolution float64
	fine       int
	finder     *finder
}

// interruptible ends with its context, also inside a block that is as long as a disk.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// each reads the packets of a file's interface. unread gets the reasons of packets that cannot be used.
func (o Options) each(
	ctx context.Context, f File, use func(p packet, label string, raw pcapfile.Packet), unread func(reason),
) (truncated string, err error) {
	file, err := o.Open(f.Path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return pcapfile.All(f.Path, interruptible{ctx, file}, func(raw pcapfile.Packet) error {
		if !known(raw.Interface.Link) {
			if f.Interface == "" || f.names(raw.Interface, "") {
				return &pcapfile.Error{File: f.Path, Offset: raw.Offset, Problem: fmt.Sprintf(
					"packets of the link type %d; known are Ethernet, raw IP, and Linux' cooked headers", raw.Interface.Link)}
			}
			return nil
		}
		ip, device, found := ipPacket(raw.Interface.Link, raw.Data)
		if f.Interface != "" && !f.names(raw.Interface, device) {
			return nil
		}
		p, why := packet{}, other
		whole := len(raw.Data) == raw.Length
		switch {
		case found:
			p, why = decode(ip, whole)
		case !whole:
			why = Cut
		}
		if why == "" && !raw.TimeKnown {
			why = NoTime
		}
		if why != "" {
			unread(why)
			return nil
		}
		p.time = raw.Time
		use(p, label(raw.Interface, device), raw)
		return nil
	})
}

// label names an interface of a file: the device in a cooked header, or the name, or the number.
func label(i *pcapfile.Interface, device string) string {
	switch {
	case device != "":
		return device
	case i.Name != "":
		return i.Name
	}
	return strconv.Itoa(i.Index)
}

// names says whether an interface is the one that is meant.
func (f File) names(i *pcapfile.Interface, device string) bool {
	return f.Interface == label(i, device) || device == "" && f.Interface == strconv.Itoa(i.Index)
}

// survey counts the services of a file.
func (o Options) survey(ctx context.Context, f File) (survey, error) {
	s, packets := survey{}, 0
	reasons := map[reason]int{}
	_, err := o.each(ctx, f, func(p packet, label string, _ pcapfile.Packet) {
		packets++
		s.add(p, label)
	}, func(why reason) { packets++; reasons[why]++ })
	switch {
	case err != nil:
		return nil, err
	case packets == 0 && f.Interface != "":
		return nil, o.noInterface(ctx, f)
	case packets == 0:
		return nil, fmt.Errorf("%s: it has no packets", f.Path)
	case len(s) == 0:
		return nil, fmt.Errorf("%s: it has no packets that can be used: %s", f.Path, reasonsText(reasons))
	}
	return s, nil
}

// noInterface names the interfaces that a file has.
func (o Options) noInterface(ctx context.Context, f File) error {
	labels := map[string]bool{}
	all := File{Path: f.Path}
	if _, err := o.each(ctx, all, func(_ packet, label string, _ pcapfile.Packet) {
		if len(labels) < maxLabels {
			labels[label] = true
		}
	}, func(reason) {}); err != nil {
		return err
	}
	return fmt.Errorf("%s: it has no packets of the interface %q; it has packets of %s", f.Path, f.Interface,
		listed(labels))
}

func listed(labels map[string]bool) string {
	if len(labels) == 0 {
		return "none that can be used"
	}
	return strings.Join(slices.Sorted(maps.Keys(labels)), ", ")
}

// ByCount lists the keys of counts, the most frequent first.
func ByCount[K ~string](counts map[K]int) []K {
	return slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}

// reasonsText lists reasons with their counts, the most frequent first.
func reasonsText(counts map[reason]int) string {
	var parts []string
	for _, why := range ByCount(counts) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[why], why))
	}
	return strings.Join(parts, ", ")
}

// find reads the exchanges of a service at a point.
func (o Options) find(ctx context.Context, f File, of service) (*seen, error) {
	s := &seen{unreadable: map[reason]int{}, carried: map[string]int{}, finder: newFinder()}
	var err error
	s.truncated, err = o.each(ctx, f, func(p packet, _ string, raw pcapfile.Packet) {
		s.packets++
		toServer, belongs := of.has(p)
		if !belongs {
			return
		}
		s.own++
		s.resolution = max(s.resolution, raw.Interface.Resolution)
		if p.time%1000 != 0 {
			s.fine++
		}
		const most = 16
		if _, counted := s.carried[p.carried]; counted || len(s.carried) < most {
			s.carried[p.carried]++
		}
		s.finder.add(p, toServer)
	}, func(why reason) {
		s.packets++
		s.unreadable[why]++
	})
	s.finder.finish()
	return s, err
}
