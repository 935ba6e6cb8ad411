package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// addPool asks for the new pool, unless an earlier attempt already did, and waits until the provider has made it.
func (m *Migration) addPool(ctx context.Context) error {
	s := m.State
	status, err := m.settled(ctx, s.New)
	if err != nil {
		return err
	}
	switch {
	case status.Phase == Absent:
		m.Say("  asking for %s", s.New)
		s.Asked = time.Now().UTC()
		if err := m.Save(s); err != nil {
			return err
		}
		if err := m.Provider.Add(ctx, s.ID); err != nil {
			return err
		}
		s.Asked = time.Time{}
		if err := m.Save(s); err != nil {
			return err
		}
	case status.Migration != s.ID:
		return fmt.Errorf("%s exists and is not of this migration: use it with --to, or name another one with --new",
			s.New)
	}
	return m.waitPhase(ctx, s.New, Ready)
}

// settled waits until no change of a pool is in progress, and gives its status then. If this program was killed while
// it asked for the pool, the request may still be in progress: if a pool is absent, it is looked for until it would
// exist.
func (m *Migration) settled(ctx context.Context, side Side) (Status, error) {
	var status Status
	err := m.wait(ctx, m.State.Limits.Nodes, "", func() (string, error) {
		var err error
		if status, err = m.Provider.Status(ctx, side.Pool); err != nil {
			return "", err
		}
		switch {
		case status.Phase == Changing:
			return fmt.Sprintf("%s is %s", side, status.Detail), nil
		case status.Phase == Absent && side.Made && time.Since(m.State.Asked) < m.Settle:
			return fmt.Sprintf("%s may be on its way", side), nil
		}
		return "", nil
	})
	return status, err
}

// waitPhase waits until the provider says that a pool has a phase.
func (m *Migration) waitPhase(ctx context.Context, side Side, want Phase) error {
	return m.wait(ctx, m.State.Limits.Nodes, "  %s", func() (string, error) {
		status, err := m.Provider.Status(ctx, side.Pool)
		if err != nil {
			return "", err
		}
		if status.Phase == want {
			return "", nil
		}
		if status.Phase == Failed {
			return "", fmt.Errorf("%s: its provider says %s", side, status.Detail)
		}
		return fmt.Sprintf("%s is %s", side, status.Detail), nil
	})
}

// wait calls look until it has nothing left to wait for. The text that look returns names what it waits for. When the
// text changes, it is said as the format has it, unless that is empty.
func (m *Migration) wait(ctx context.Context, limit time.Duration, format string, look func() (string, error)) error {
	over, said := time.After(limit), ""
	for {
		waiting, err := look()
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		if waiting == "" {
			return nil
		}
		if format != "" && waiting != said {
			said = waiting
			m.Say(format, waiting)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return fmt.Errorf("not within %v: %s", limit, waiting)
		case <-time.After(m.Poll):
		}
	}
}

// waitNodes waits until the new pool has as many ready nodes as its provider says, and one at least.
func (m *Migration) waitNodes(ctx context.Context) error {
	s := m.State
	want := 1
	if s.New.Made {
		status, err := m.Provider.Status(ctx, s.New.Pool)
		if err != nil {
			return err
		}
		want = max(want, status.Nodes)
	}
	return m.wait(ctx, s.Limits.Nodes, "  %s", func() (string, error) {
		nodes, err := m.Cluster.nodes(ctx, s.New.Selector)
		if err != nil {
			return "", err
		}
		ready := 0
		for i := range nodes {
			if isReady(&nodes[i]) {
				ready++
			}
		}
		if ready >= want {
			m.Say("  %s has %d ready nodes", s.New, ready)
			return "", nil
		}
		return fmt.Sprintf("%s has %d of %d nodes ready", s.New, ready, want), nil
	})
}

// checkPool asks whether the new pool has what the migration is for, before any workload moves.
func (m *Migration) checkPool(ctx context.Context) error {
	s := m.State
	nodes, err := m.Cluster.nodes(ctx, s.New.Selector)
	if err != nil {
		return err
	}
	if m.Findings == nil {
		m.Say("  nobody can say whether accelerated networking is on")
		return nil
	}
	var asked []NewNode
	for i := range nodes {
		n := &nodes[i]
		asked = append(asked, NewNode{n.Name, n.Spec.ProviderID, n.Status.NodeInfo.OperatingSystem, isReady(n)})
	}
	s.Findings = m.Findings(ctx, asked)
	if err := ctx.Err(); err != nil {
		return err
	}
	var off []string
	for _, f := range s.Findings {
		m.Say("  accelerated networking, %s: %s (%s)", f.Source, f.On, f.Evidence)
		if f.On == Off {
			off = append(off, f.Source)
		}
	}
	if len(off) > 0 && !s.Consent.Unverified {
		return fmt.Errorf("%w: %s", ErrOff, joined(off))
	}
	return nil
}

// cordonAll cordons all nodes of a pool, and notes those that are new.
func (m *Migration) cordonAll(ctx context.Context, selector string, known *[]Node) error {
	nodes, err := m.Cluster.nodes(ctx, selector)
	if err != nil {
		return err
	}
	if err := m.note(nodes, known); err != nil {
		return err
	}
	for _, n := range nodes {
		changed, err := m.Cluster.setCordon(ctx, n.Name, true)
		if err != nil {
			return err
		}
		if changed {
			m.Say("  cordoned %s", n.Name)
		}
	}
	return nil
}

// note writes nodes that the state does not have yet, before they are changed. An autoscaler can add some at any time.
func (m *Migration) note(nodes []corev1.Node, known *[]Node) error {
	added := false
	for _, n := range nodes {
		if !slices.ContainsFunc(*known, func(k Node) bool { return k.Name == n.Name }) {
			*known = append(*known, Node{Name: n.Name, CordonedBefore: n.Spec.Unschedulable})
			added = true
		}
	}
	if !added {
		return nil
	}
	return m.Save(m.State)
}

// drainAll drains the nodes of a pool, one after the other. It ends when a look at the pool finds no other node.
func (m *Migration) drainAll(ctx context.Context, selector string, known *[]Node) error {
	drained := 0
	for {
		if err := m.cordonAll(ctx, selector, known); err != nil {
			return err
		}
		at := slices.IndexFunc(*known, func(n Node) bool { return !n.Drained })
		if at < 0 {
			return nil
		}
		if drained > 0 && m.State.Limits.Pace > 0 {
			m.Say("  the next node follows after %v", m.State.Limits.Pace)
			if err := pause(ctx, m.State.Limits.Pace); err != nil {
				return err
			}
		}
		if err := m.drainOne(ctx, (*known)[at].Name, fmt.Sprintf("%d of %d", at+1, len(*known))); err != nil {
			return err
		}
		(*known)[at].Drained = true
		drained++
		if err := m.Save(m.State); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// drainOne drains a node, and waits until the workloads have as many ready pods as before. A node that no longer exists
// counts as drained.
func (m *Migration) drainOne(ctx context.Context, node, which string) error {
	s := m.State
	pods, err := m.Cluster.podsOn(ctx, node)
	if err != nil {
		return err
	}
	// The numbers of ready pods are written before the first eviction, so that a crash does not lower them.
	added, err := m.Cluster.notice(ctx, s, pods)
	if err != nil {
		return err
	}
	if added {
		if err := m.Save(s); err != nil {
			return err
		}
	}
	m.Say("  draining %s (%s)", node, which)
	if err := m.Cluster.drainNode(ctx, node, s, m.Say); err != nil {
		return err
	}
	return m.waitWorkloads(ctx)
}

// waitWorkloads waits until all workloads of the old pool are ready again.
func (m *Migration) waitWorkloads(ctx context.Context) error {
	err := m.wait(ctx, m.State.Limits.Workloads, "  waiting: %s", func() (string, error) {
		lack, err := m.Cluster.lacking(ctx, m.State.Workloads)
		return joined(lack), err
	})
	if err == nil {
		m.Say("  the workloads are ready")
	}
	return err
}

// checkEmpty checks that a pool can be deleted: its nodes take no pods and hold only pods of DaemonSets, and the
// workloads are ready. If a node is not empty, the next attempt drains again.
func (m *Migration) checkEmpty(ctx context.Context, side Side) error {
	s := m.State
	nodes, err := m.Cluster.nodes(ctx, side.Selector)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		left, err := m.Cluster.left(ctx, n.Name)
		if err != nil {
			return err
		}
		if n.Spec.Unschedulable && len(left) == 0 {
			continue
		}
		known, step := s.Nodes, Drain
		if s.Undo {
			known, step = s.NewNodes, UndoDrain
		}
		for i := range known {
			known[i].Drained = known[i].Drained && known[i].Name != n.Name
		}
		s.Step = step
		why := "it takes pods, because it is new or somebody has uncordoned it"
		if len(left) > 0 {
			why = "it holds " + joined(left)
		}
		return errors.Join(fmt.Errorf("node %s of %s is not empty: %s; the next attempt drains it", n.Name, side, why),
			m.Save(s))
	}
	if err := m.waitWorkloads(ctx); err != nil {
		return err
	}
	m.Say("  %d nodes of %s hold nothing but pods of DaemonSets", len(nodes), side)
	return nil
}

// askDelete asks whether a pool may be deleted. A pool that does not exist needs no answer.
func (m *Migration) askDelete(ctx context.Context, side, other Side) error {
	status, err := m.Provider.Status(ctx, side.Pool)
	if err != nil {
		return err
	}
	if status.Phase == Absent {
		return nil
	}
	// Pods can have come since the check, which may be hours ago.
	if err := m.checkEmpty(ctx, side); err != nil {
		return err
	}
	yes, err := m.Confirm(fmt.Sprintf("Delete %s? Its workloads run elsewhere now; %s stays.", side, other))
	if err != nil {
		return err
	}
	if !yes {
		return ErrDeclined
	}
	return nil
}

// deletePool deletes a pool, unless it is already deleted or being deleted.
func (m *Migration) deletePool(ctx context.Context, side Side) error {
	status, err := m.settled(ctx, side)
	switch {
	case err != nil:
		return err
	case status.Phase == Absent:
		m.Say("  %s does not exist", side)
		return nil
	case side.Made && status.Migration != m.State.ID:
		return fmt.Errorf("%s is not of this migration: somebody else has made it again", side)
	}
	m.Say("  deleting %s", side)
	if err := m.Provider.Delete(ctx, side.Pool); err != nil {
		return err
	}
	return m.waitPhase(ctx, side, Absent)
}

// uncordonOld uncordons the nodes of the old pool, except for those that were cordoned before.
func (m *Migration) uncordonOld(ctx context.Context) error {
	for i := range m.State.Nodes {
		n := &m.State.Nodes[i]
		if n.CordonedBefore {
			continue
		}
		changed, err := m.Cluster.setCordon(ctx, n.Name, false)
		if err != nil {
			return err
		}
		if changed {
			m.Say("  uncordoned %s", n.Name)
		}
	}
	return nil
}
