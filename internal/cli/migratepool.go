package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/kubeclient"
	"nearfar/internal/cloud/pool"
	"nearfar/internal/cloud/pool/aks"
)

func (a *app) migratePoolCommand() *cobra.Command {
	o := poolOptions{}
	cmd := &cobra.Command{
		Use:   "migrate-pool --from POOL [flags] | --resume | --undo",
		Short: "Move the workloads of a pool of nodes to another pool, node by node",
		Long: `Migrate-pool moves all pods of a pool of Kubernetes nodes to another pool, and deletes the old pool. On
AKS it makes the new pool like the old one: with the same count, version, autoscaling, max pods, taints, labels, size,
zones, system, mode and subnet. In this way a pool from before AKS had accelerated networking is replaced by a pool that
has it.

It cordons all nodes of the old pool. Then it drains them one after the other, as "kubectl drain" does: pods are
evicted, so that PodDisruptionBudgets hold. After each node it waits until the workloads have as many ready pods as
before. It deletes the old pool only if the only pods left there belong to DaemonSets, and asks before.

On AKS it runs your own az, with the login that az has. On other clusters, or with --keep-old, both pools must exist,
and label selectors find their nodes.

Each step is written to a file below .nearfar/migrate-pool before it begins. After Ctrl-C, a failure, or a crash,
--resume continues from there, and --undo goes back: it uncordons the old nodes, moves the pods back from a pool that
migrate-pool has made, and deletes that pool. Once the deletion of the old pool was begun, nothing can be undone.

Exit codes: 0 done; 1 it failed, or the dry run found a reason that would stop it; 2 wrong usage; 4 accelerated
networking of the new pool is off; 130 interrupted.`,
		Example: `  nearfar migrate-pool --resource-group shop --cluster shop --from linpool --dry-run
  nearfar migrate-pool --resource-group shop --cluster shop --from linpool
  nearfar migrate-pool --resource-group shop --cluster shop --from winpl --new win2 --vm-size Standard_D4s_v5
  nearfar migrate-pool --from-selector eks.amazonaws.com/nodegroup=old --to-selector eks.amazonaws.com/nodegroup=new \
      --keep-old --pace 1m
  nearfar migrate-pool --resume
  nearfar migrate-pool --undo`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.changed = cmd.Flags().Changed
			o.questions = bufio.NewReader(a.stdin)
			if o.resume || o.undo {
				return a.continuePool(cmd.Context(), &o)
			}
			return a.beginPool(cmd.Context(), &o)
		},
	}
	o.flags(cmd.Flags())
	return cmd
}

// settle is longer than a request of az takes to be seen.
const settle = 2 * time.Minute

// poolSide is a pool by its name or its selector.
func poolSide(name, selector string) pool.Side {
	if name != "" {
		return pool.Side{Pool: name, Selector: aks.Selector(name)}
	}
	return pool.Side{Selector: selector}
}

// beginPool plans a migration, and carries it out after a yes.
func (a *app) beginPool(ctx context.Context, o *poolOptions) error {
	if err := checkPoolFlags(o); err != nil {
		return err
	}
	m, err := a.openPool(o, pool.NewState(time.Now()))
	if err != nil {
		return err
	}
	s := m.State
	s.Old, s.New, s.KeepOld = poolSide(o.from, o.fromSelector), poolSide(o.to, o.toSelector), o.keepOld
	s.Limits, s.Consent, s.GracePeriod = o.limits, o.consent, o.grace
	plan := &poolPlan{state: s}
	if o.azure.Name != "" {
		if err := a.planAzure(ctx, o, m, plan); err != nil {
			return err
		}
	}
	s.ClusterUID = m.Cluster.UID(ctx)
	if plan.survey, err = m.Survey(ctx); err != nil {
		return err
	}
	if len(plan.differences) > 0 {
		plan.survey.Problems = append(plan.survey.Problems, pool.Problem{
			Text: "the new pool will not have these settings of the old one: " + strings.Join(plan.differences, "; "),
			Flag: "--accept-differences", Allowed: o.consent.Differences,
		})
	}
	fmt.Fprint(a.stdout, plan.text())
	if refused := plan.survey.Refused(); len(refused) > 0 {
		return fmt.Errorf("%d things stand in the way; nothing was changed", len(refused))
	}
	if o.dryRun {
		return nil
	}
	file := pool.FileOf(s.Old)
	locked, err := pool.OpenFile(file)
	if err != nil {
		return err
	}
	defer func() { _ = locked.Close() }() // what was written is on the disk
	if before, err := pool.ReadState(file); err == nil && !before.Over() {
		return fmt.Errorf("a migration of %s is not finished (%s): --resume goes on with it, and --undo goes back",
			s.Old, before.Step)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	m.Save = locked.Write
	if yes, err := a.confirmPool(ctx, o, "Begin?"); err != nil {
		return err
	} else if !yes {
		return errors.New("nothing was changed, as you wished")
	}
	if err := m.Begin(ctx); err != nil {
		return err
	}
	return a.runPool(ctx, m)
}

// openPool connects a migration with the cluster of the flags.
func (a *app) openPool(o *poolOptions, s *pool.State) (*pool.Migration, error) {
	name, err := kubeclient.Resolve(o.kubeconfig, o.context)
	if err != nil {
		return nil, &usageError{err}
	}
	cluster, err := pool.Open(o.kubeconfig, name)
	if err != nil {
		return nil, &usageError{err}
	}
	s.Context = name
	m := &pool.Migration{
		Cluster: cluster, State: s, Poll: 2 * time.Second, Settle: settle,
		Say: func(format string, args ...any) { fmt.Fprintln(a.stderr, clean.Line(fmt.Sprintf(format, args...))) },
	}
	m.Confirm = func(question string) (bool, error) { return a.confirmPool(context.Background(), o, question) }
	m.Findings = func(ctx context.Context, nodes []pool.NewNode) []pool.Finding {
		return a.poolFindings(ctx, o, m, nodes)
	}
	return m, nil
}

// planAzure reads the old pool, and plans the new one if there is none.
func (a *app) planAzure(ctx context.Context, o *poolOptions, m *pool.Migration, plan *poolPlan) error {
	az, err := aks.Installed()
	if err != nil {
		return err
	}
	p := &aks.Provider{Cluster: o.azure, Az: az}
	m.Provider = p
	s := m.State
	if o.to != "" {
		for _, name := range []string{o.from, o.to} {
			if _, err := p.Pool(ctx, name); err != nil {
				return err
			}
		}
	} else {
		old, differences, err := p.Plan(ctx, o.from, o.new, o.size)
		if err != nil {
			return err
		}
		plan.differences, plan.count = differences, old.Count
		s.New = pool.Side{Pool: p.NewPool, Selector: aks.Selector(p.NewPool), Made: true}
		m.NewLabels = map[string]string{aks.Label: p.NewPool, aks.OldLabel: p.NewPool}
		if o.size != "" {
			m.NewLabels["node.kubernetes.io/instance-type"] = o.size
		}
		plan.add = p.AddCommand(s.ID)
	}
	s.Provider, err = json.Marshal(p.Cluster)
	return err
}

// continuePool resumes or undoes a migration.
func (a *app) continuePool(ctx context.Context, o *poolOptions) error {
	if o.resume && o.undo {
		return usagef("give one of --resume and --undo; --undo also goes on with an undo that was interrupted")
	}
	if flag := given(o.changed, "resource-group", "cluster", "subscription", "to", "new", "vm-size", "to-selector",
		"keep-old", "dry-run", "accept-differences"); flag != "" {
		return usagef("--%s is for a new migration: leave it out; --resume and --undo read it from the file", flag)
	}
	if err := checkPoolLimits(o); err != nil {
		return err
	}
	file, err := findMigration(o)
	if err != nil {
		return err
	}
	locked, err := pool.OpenFile(file)
	if err != nil {
		return err
	}
	defer func() { _ = locked.Close() }() // what was written is on the disk
	s, err := pool.ReadState(file)
	if err != nil {
		return err
	}
	o.context = cmp.Or(o.context, s.Context)
	known := s.ClusterUID
	m, err := a.openPool(o, s)
	if err != nil {
		return err
	}
	m.Save = locked.Write
	if uid := m.Cluster.UID(ctx); known != "" && uid != "" && uid != known {
		return fmt.Errorf("context %s is another cluster than the one of the migration", clean.Line(s.Context))
	}
	if len(s.Provider) > 0 {
		p := &aks.Provider{}
		if err := json.Unmarshal(s.Provider, &p.Cluster); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if p.Az, err = aks.Installed(); err != nil {
			return err
		}
		m.Provider = p
	}
	o.override(s)
	if o.undo {
		if err := m.BeginUndo(ctx); err != nil {
			return err
		}
	}
	return a.runPool(ctx, m)
}

// findMigration is the file of the migration that the flags name, or of the only one that is not over.
func findMigration(o *poolOptions) (string, error) {
	if o.from != "" || o.fromSelector != "" {
		return pool.FileOf(poolSide(o.from, o.fromSelector)), nil
	}
	files, err := filepath.Glob(filepath.Join(pool.Folder(), "from-*.json"))
	if err != nil {
		return "", err
	}
	var open, names []string
	for _, file := range files {
		s, err := pool.ReadState(file)
		if err != nil {
			return "", err
		}
		if !s.Over() {
			open, names = append(open, file), append(names, s.Old.String())
		}
	}
	switch len(open) {
	case 0:
		return "", fmt.Errorf("no migration in %s is unfinished; --from names one that is", pool.Folder())
	case 1:
		return open[0], nil
	}
	return "", usagef("several migrations are unfinished: name one with --from: %s",
		clean.Line(strings.Join(names, ", ")))
}

// runPool carries out the remaining steps. If it does not reach the end, it says how to continue.
func (a *app) runPool(ctx context.Context, m *pool.Migration) error {
	err := m.Run(ctx)
	s := m.State
	if err == nil {
		switch {
		case s.Step == pool.Undone:
			fmt.Fprintf(a.stdout, "The migration of %s is undone.\n", clean.Line(s.Old.String()))
		case s.KeepOld:
			fmt.Fprintf(a.stdout, "The workloads of %s run on %s. The old nodes are cordoned and empty.\n",
				clean.Line(s.Old.String()), clean.Line(s.New.String()))
		default:
			fmt.Fprintf(a.stdout, "The workloads of %s run on %s, and the old pool is deleted.\n",
				clean.Line(s.Old.String()), clean.Line(s.New.String()))
		}
		return nil
	}
	again := "nearfar migrate-pool --resume goes on; nearfar migrate-pool --undo goes back"
	if s.Undo {
		again = "nearfar migrate-pool --undo goes on"
	}
	fmt.Fprintf(a.stderr, "The migration stopped at the step %s. %s.\n", s.Step, again)
	if errors.Is(err, pool.ErrOff) {
		return &unprovedError{err.Error(), "No workload was moved; --resume --allow-unverified goes on without it."}
	}
	return err
}

// confirmPool asks on standard error. Without an answer it is a no.
func (a *app) confirmPool(ctx context.Context, o *poolOptions, question string) (bool, error) {
	if o.yes {
		return true, nil
	}
	fmt.Fprintf(a.stderr, "%s [yes/no] ", clean.Line(question))
	line, err := o.questions.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if line == "" {
		fmt.Fprintln(a.stderr, "(no answer; --yes answers yes)")
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "yes" || answer == "y", ctx.Err()
}
