package inside

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// offsets are the places of fields in the running kernel's structures, in bytes.
type offsets struct {
	head, networkHeader            int16 // sk_buff
	data, skbDevice                int16
	ifindex, name, net, link, priv int16 // net_device
	linkKind                       int16 // rtnl_link_ops
	inum                           int16 // net
	pid, comm, queue               int16 // task_struct
	family                         int16 // sock
	// throttled is the count in a cfs_rq that says that its control group has used up its CPU time; 0 if this kernel has
	// none.
	throttled int16
	// runQueue leads from a cfs_rq to the rq of its CPU. There are the CPU's number, and the time that the hypervisor did
	// not run it. All are 0 if this kernel has no such time.
	runQueue, runQueueCPU, stolen int16
}

// readOffsets asks the running kernel's type information (BTF).
func readOffsets() (o offsets, err error) {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return o, fmt.Errorf("the kernel has no type information (BTF): %w", err)
	}
	var failed []error
	field := func(structure string, names ...string) int16 {
		offset, err := fieldOffset(spec, structure, names)
		if err != nil {
			failed = append(failed, err)
		}
		return offset
	}
	o = offsets{
		head: field("sk_buff", "head"), networkHeader: field("sk_buff", "network_header"),
		data: field("sk_buff", "data"), skbDevice: field("sk_buff", "dev"),
		ifindex: field("net_device", "ifindex"), name: field("net_device", "name"),
		net: field("net_device", "nd_net"), link: field("net_device", "rtnl_link_ops"),
		priv:     field("net_device", "priv_flags"),
		linkKind: field("rtnl_link_ops", "kind"),
		inum:     field("net", "ns", "inum"),
		pid:      field("task_struct", "pid"),
		family:   field("sock", "__sk_common", "skc_family"),
		comm:     field("task_struct", "comm"),
		queue:    field("task_struct", "se", "cfs_rq"),
	}
	if at, err := fieldOffset(spec, "cfs_rq", []string{"throttle_count"}); err == nil {
		o.throttled = at
	}
	o.addSteal(spec)
	return o, errors.Join(failed...)
}

// addSteal adds what leads to the time that the hypervisor did not run a CPU, where this kernel counts it
// (CONFIG_PARAVIRT_TIME_ACCOUNTING) and a program can ask for the thread that runs (Linux 5.11).
func (o *offsets) addSteal(spec *btf.Spec) {
	var helper *btf.Func
	if spec.TypeByName("bpf_get_current_task_btf", &helper) != nil {
		return
	}
	queue, noQueue := fieldOffset(spec, "cfs_rq", []string{"rq"})
	cpu, noCPU := fieldOffset(spec, "rq", []string{"cpu"})
	stolen, noTime := fieldOffset(spec, "rq", []string{"prev_steal_time_rq"})
	if errors.Join(noQueue, noCPU, noTime) == nil {
		o.runQueue, o.runQueueCPU, o.stolen = queue, cpu, stolen
	}
}

// fieldOffset is where a field begins in a structure. Further names lead into the field. Fields of structures and
// unions without a name count as the structure's own, as in C.
func fieldOffset(spec *btf.Spec, structure string, names []string) (int16, error) {
	var t btf.Type
	var s *btf.Struct
	if err := spec.TypeByName(structure, &s); err != nil {
		return 0, fmt.Errorf("struct %s: %w", structure, err)
	}
	t = s
	var offset uint32 // in bits
	for _, name := range names {
		member, at, ok := memberOf(t, name, 0)
		if !ok {
			return 0, fmt.Errorf("this kernel's struct %s has no %s", structure, name)
		}
		offset += at
		t = member
	}
	if bytes := offset / 8; bytes < 1<<15 {
		return int16(bytes), nil
	}
	return 0, fmt.Errorf("struct %s: %v is beyond 32 KiB", structure, names)
}

// maxNested bounds how deep structures without a name are nested.
const maxNested = 8

// memberOf gives a member's type and its offset in bits.
func memberOf(t btf.Type, name string, depth int) (btf.Type, uint32, bool) {
	var members []btf.Member
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		members = t.Members
	case *btf.Union:
		members = t.Members
	}
	for _, m := range members {
		if m.Name == name {
			return m.Type, uint32(m.Offset), true
		}
		if m.Name == "" && depth < maxNested {
			if inner, at, ok := memberOf(m.Type, name, depth+1); ok {
				return inner, uint32(m.Offset) + at, true
			}
		}
	}
	return nil, 0, false
}
