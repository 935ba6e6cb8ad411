package lab

import (
	"encoding/binary"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// rulesPerBatch keeps the acknowledgements of a batch of rules within a netlink socket's buffer.
const rulesPerBatch = 64

// add makes a stateful firewall at a device of the calling thread's namespace, like a distributed firewall at a VM's
// port. It accepts packets of known connections from the connection table. The first packet of a new connection is
// compared with Rules rules, none of which matches, and a last rule accepts it. IPv4 and IPv6 have separate tables, so
// that a packet passes only the rules of its own version.
func (fw *firewall) add() error {
	c, err := nftables.New(nftables.AsLasting())
	if err != nil {
		return err
	}
	defer func() { _ = c.CloseLasting() }()
	for _, family := range fw.families() {
		if err := fw.addFamily(c, family); err != nil {
			return err
		}
	}
	return nil
}

// families are the IP versions whose packets pass the firewall.
func (fw *firewall) families() []nftables.TableFamily {
	if fw.IPv6 {
		return []nftables.TableFamily{nftables.TableFamilyIPv4, nftables.TableFamilyIPv6}
	}
	return []nftables.TableFamily{nftables.TableFamilyIPv4}
}

func (fw *firewall) addFamily(c *nftables.Conn, family nftables.TableFamily) error {
	table := c.AddTable(fw.table(family))
	chain := c.AddChain(fw.chain(table))
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: established()})
	for i := range fw.Rules {
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: miss(family, i)})
		if i%rulesPerBatch == rulesPerBatch-1 {
			if err := c.Flush(); err != nil {
				return err
			}
		}
	}
	c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictAccept},
	}})
	// The hooks come last, so that the first packet finds all rules.
	if fw.Forwarded {
		fw.hook(c, table, nftables.ChainHookForward, expr.MetaKeyIIFNAME, expr.MetaKeyOIFNAME)
	} else {
		fw.hook(c, table, nftables.ChainHookInput, expr.MetaKeyIIFNAME)
		fw.hook(c, table, nftables.ChainHookOutput, expr.MetaKeyOIFNAME)
	}
	return c.Flush()
}

// hook sends the packets that pass the hook on the device to the rules.
func (fw *firewall) hook(c *nftables.Conn, table *nftables.Table, hook *nftables.ChainHook, sides ...expr.MetaKey) {
	base := c.AddChain(&nftables.Chain{
		Name: fmt.Sprintf("hook%d", *hook), Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: hook, Priority: nftables.ChainPriorityFilter,
	})
	name := make([]byte, unix.IFNAMSIZ)
	copy(name, fw.Device)
	for _, side := range sides {
		c.AddRule(&nftables.Rule{Table: table, Chain: base, Exprs: []expr.Any{
			&expr.Meta{Key: side, Register: 1},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: name},
			&expr.Verdict{Kind: expr.VerdictGoto, Chain: rulesChain},
		}})
	}
}

const rulesChain = "rules"

func (fw *firewall) table(family nftables.TableFamily) *nftables.Table {
	return &nftables.Table{Family: family, Name: fmt.Sprintf("firewall%d", fw.Element)}
}

func (fw *firewall) chain(table *nftables.Table) *nftables.Chain {
	return &nftables.Chain{Name: rulesChain, Table: table}
}

// established accepts, and counts, packets of known connections: ct state established,related counter accept.
func established() []expr.Any {
	known := binaryutil.NativeEndian.PutUint32(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED)
	return []expr.Any{
		&expr.Ct{Register: 1, Key: expr.CtKeySTATE},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: known, Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictAccept},
	}
}

// miss is the i-th rule that matches no packet of a lab: its source address is in 198.18.0.0/15 (RFC 2544) or
// 2001:2::/48 (RFC 5180), which are reserved for benchmarks.
func miss(family nftables.TableFamily, i int) []expr.Any {
	source, offset := binary.BigEndian.AppendUint32(nil, 198<<24|18<<16|uint32(i)), uint32(12)
	if family == nftables.TableFamilyIPv6 {
		source, offset = binary.BigEndian.AppendUint32([]byte{0x20, 0x01, 0, 2, 11: 0}, uint32(i)), 8
	}
	length := uint32(len(source))
	return []expr.Any{
		// source address
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: length},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: source},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}
}

// counters reads how many IPv4 and IPv6 packets the firewall accepted from its connection table and by its last rule,
// and how many rules are between the two.
func (fw *firewall) counters() (map[string]uint64, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, err
	}
	counters := map[string]uint64{}
	for _, family := range fw.families() {
		table := fw.table(family)
		rules, err := c.GetRules(table, fw.chain(table))
		if err != nil {
			return nil, err
		}
		if len(rules) < 2 {
			return nil, fmt.Errorf("a firewall of %d rules", len(rules))
		}
		counters["established"] += ruleCounter(rules[0])
		counters["new"] += ruleCounter(rules[len(rules)-1])
		counters["rules"] = uint64(len(rules) - 2)
	}
	return counters, nil
}

func ruleCounter(r *nftables.Rule) uint64 {
	for _, e := range r.Exprs {
		if c, ok := e.(*expr.Counter); ok {
			return c.Packets
		}
	}
	return 0
}
