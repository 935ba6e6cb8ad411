package cli

import (
	"bufio"

	"github.com/spf13/pflag"

	"nearfar/internal/cloud/pool"
	"nearfar/internal/cloud/pool/aks"
)

// poolOptions are the flags of migrate-pool.
type poolOptions struct {
	kubeconfig, context string
	// azure says where the pools are. All of its fields are empty for a cluster that is not of AKS.
	azure                     aks.Cluster
	from, to, new, size       string
	fromSelector, toSelector  string
	keepOld                   bool
	limits                    pool.Limits
	consent                   pool.Consent
	grace                     int
	yes, dryRun, resume, undo bool
	skipGuest                 bool
	changed                   func(flag string) bool
	questions                 *bufio.Reader
}

func (o *poolOptions) flags(f *pflag.FlagSet) {
	limits := pool.DefaultLimits()
	f.StringVarP(&o.azure.ResourceGroup, "resource-group", "g", "", "the resource `group` of the AKS cluster")
	f.StringVar(&o.azure.Name, "cluster", "", "the `name` of the AKS cluster")
	f.StringVar(&o.azure.Subscription, "subscription", "", "the Azure `subscription` (default: the one that az uses)")
	kubeconfigFlag(f, &o.kubeconfig)
	f.StringVar(&o.context, "context", "", "the `context` of the kubeconfig (default: its current one)")
	f.StringVar(&o.from, "from", "", "the old `pool`")
	f.StringVar(&o.to, "to", "", "an existing `pool` that takes the workloads (default: a new pool)")
	f.StringVar(&o.new, "new", "", "the `name` of the new pool (default: the old name with the next number)")
	f.StringVar(&o.size, "vm-size", "", "the `size` of the new pool's machines (default: as the old pool)")
	f.StringVar(&o.fromSelector, "from-selector", "", "the `labels` of the old nodes, on any cluster")
	f.StringVar(&o.toSelector, "to-selector", "", "the `labels` of the new nodes, on any cluster")
	f.BoolVar(&o.keepOld, "keep-old", false, "keep the old pool, cordoned and empty")
	f.DurationVar(&o.limits.Pace, "pace", limits.Pace, "how long to wait between two nodes")
	f.DurationVar(&o.limits.Nodes, "nodes-limit", limits.Nodes, "how long the new nodes, or a deletion, may take")
	f.DurationVar(&o.limits.Drain, "drain-limit", limits.Drain, "how long the drain of one node may take")
	f.DurationVar(&o.limits.Workloads, "ready-limit", limits.Workloads,
		"how long workloads may take to be ready after a node")
	f.IntVar(&o.grace, "grace-period", -1, "`seconds` that pods get to end (default: as each pod says)")
	f.BoolVar(&o.consent.EmptyDir, "delete-emptydir-data", false,
		"evict pods with emptyDir volumes; their content is lost")
	f.BoolVar(&o.consent.Unmanaged, "force", false, "delete pods that no controller makes again")
	f.BoolVar(&o.consent.Pending, "allow-pending", false, "evict pods that no other node can take")
	f.BoolVar(&o.consent.Differences, "accept-differences", false, "make a new pool that lacks settings of the old one")
	f.BoolVar(&o.consent.Unverified, "allow-unverified", false,
		"continue if accelerated networking of the new pool is off")
	f.BoolVar(&o.skipGuest, "no-guest-check", false, "start no pod that looks at a new node's network devices")
	f.BoolVar(&o.dryRun, "dry-run", false,
		"print the steps, the pods that move and what prevents the migration; change nothing")
	f.BoolVarP(&o.yes, "yes", "y", false, "ask nothing, not even before the old pool is deleted")
	f.BoolVar(&o.resume, "resume", false,
		"continue the migration that was interrupted (of the pool --from, if there are several)")
	f.BoolVar(&o.undo, "undo", false, "undo the migration (of the pool --from, if there are several)")
}

// checkPoolFlags says what is wrong with the flags of a new migration.
func checkPoolFlags(o *poolOptions) error {
	azure := o.azure.ResourceGroup != "" || o.azure.Name != ""
	count := func(all ...string) (n int) {
		for _, s := range all {
			if s != "" {
				n++
			}
		}
		return n
	}
	switch {
	case azure && count(o.azure.ResourceGroup, o.azure.Name) != 2:
		return usagef("an AKS cluster needs both --resource-group and --cluster")
	case count(o.from, o.fromSelector) != 1:
		return usagef("name the old pool with --from POOL or --from-selector LABELS")
	case count(o.to, o.new, o.toSelector) > 1:
		return usagef("give one of --to, --to-selector and --new")
	case azure && count(o.fromSelector, o.toSelector) > 0:
		return usagef("on AKS, name pools with --from, --to and --new, not with selectors")
	case !azure && count(o.to, o.toSelector) == 0:
		return usagef("name the pool that takes the workloads with --to or --to-selector; only on AKS, with " +
			"--resource-group and --cluster, can a new one be made")
	case !azure && !o.keepOld:
		return usagef("only on AKS, with --resource-group and --cluster, can the old pool be deleted: add --keep-old")
	case count(o.to, o.toSelector) > 0 && o.size != "":
		return usagef("--vm-size is the size of a new pool: leave it out with --to or --to-selector")
	case o.from != "" && o.from == o.to:
		return usagef("--from and --to name the same pool: name two pools")
	}
	for _, name := range []string{o.from, o.to, o.new} {
		if name == "" {
			continue
		}
		if err := aks.CheckName(name, ""); err != nil {
			return &usageError{err}
		}
	}
	return checkPoolLimits(o)
}

func checkPoolLimits(o *poolOptions) error {
	switch l := o.limits; {
	case l.Nodes <= 0 || l.Drain <= 0 || l.Workloads <= 0:
		return usagef("--nodes-limit, --drain-limit and --ready-limit must be above zero")
	case l.Pace < 0:
		return usagef("--pace must not be negative")
	}
	return nil
}

// override replaces limits and permissions by those that the flags set.
func (o *poolOptions) override(s *pool.State) {
	for flag, take := range map[string]func(){
		"pace":                 func() { s.Limits.Pace = o.limits.Pace },
		"nodes-limit":          func() { s.Limits.Nodes = o.limits.Nodes },
		"drain-limit":          func() { s.Limits.Drain = o.limits.Drain },
		"ready-limit":          func() { s.Limits.Workloads = o.limits.Workloads },
		"grace-period":         func() { s.GracePeriod = o.grace },
		"delete-emptydir-data": func() { s.Consent.EmptyDir = o.consent.EmptyDir },
		"force":                func() { s.Consent.Unmanaged = o.consent.Unmanaged },
		"allow-pending":        func() { s.Consent.Pending = o.consent.Pending },
		"allow-unverified":     func() { s.Consent.Unverified = o.consent.Unverified },
	} {
		if o.changed(flag) {
			take()
		}
	}
}
