package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Migration carries out the steps of a state.
type Migration struct {
	Cluster *Cluster
	State   *State
	// Provider makes and deletes pools; nil for none.
	Provider Provider
	// Findings reads what is known of the accelerated networking of the new pool; nil reads nothing.
	Findings func(ctx context.Context, nodes []NewNode) []Finding
	// NewLabels are the labels by which the nodes of a pool that is still to be made differ from the old ones.
	NewLabels map[string]string
	// Save writes the state. It is called before each step and after each node.
	Save func(*State) error
	// Confirm asks whether a pool may be deleted.
	Confirm func(question string) (bool, error)
	// Say reports progress, in one line.
	Say func(format string, args ...any)
	// Poll is the time between two looks at something that is waited for.
	Poll time.Duration
	// Settle is how long a request for a new pool may stay invisible after this program was killed while it asked.
	Settle time.Duration
}

// ErrDeclined says that the user did not allow the deletion.
var ErrDeclined = errors.New("the pool was not deleted, as you wished")

// ErrOff says that the new pool does not have what the migration is for. No workload was moved.
var ErrOff = errors.New("accelerated networking of the new pool is off")

// NewNode is a node of the new pool.
type NewNode struct {
	Name, ProviderID string
	// OS is linux or windows.
	OS    string
	Ready bool
}

// Survey looks at what the migration will move.
func (m *Migration) Survey(ctx context.Context) (*Survey, error) {
	s := m.State
	old, to, err := m.Cluster.bothPools(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(old) == 0 {
		return nil, fmt.Errorf("%s: %w", s.Old.Selector, errNoNodes)
	}
	if len(to) == 0 && !s.New.Made {
		return nil, fmt.Errorf("%s: %w", s.New.Selector, errNoNodes)
	}
	var made *corev1.Node
	if s.New.Made {
		made = old[0].DeepCopy()
		made.Spec.Unschedulable = false
		made.Spec.Taints = slices.DeleteFunc(made.Spec.Taints, func(t corev1.Taint) bool {
			return strings.HasPrefix(t.Key, "node.kubernetes.io/") // conditions of the moment, such as a cordon
		})
		if made.Labels == nil {
			made.Labels = map[string]string{}
		}
		maps.Copy(made.Labels, m.NewLabels)
	}
	return m.Cluster.survey(ctx, s, old, to, made)
}

// Begin notes the present state before anything is changed, and writes the first state.
func (m *Migration) Begin(ctx context.Context) error {
	s := m.State
	old, _, err := m.Cluster.bothPools(ctx, s)
	if err != nil {
		return err
	}
	s.Nodes = nil
	for _, n := range old {
		s.Nodes = append(s.Nodes, Node{Name: n.Name, CordonedBefore: n.Spec.Unschedulable})
		pods, err := m.Cluster.podsOn(ctx, n.Name)
		if err != nil {
			return err
		}
		if _, err := m.Cluster.notice(ctx, s, pods); err != nil {
			return err
		}
	}
	s.Step = s.Steps()[0]
	return m.Save(s)
}

// BeginUndo reverses a migration. A pool whose deletion was begun cannot be restored.
func (m *Migration) BeginUndo(ctx context.Context) error {
	s := m.State
	if s.Undo {
		return nil
	}
	if s.Step == DeleteOld || s.Step == Done && !s.KeepOld {
		status, err := m.Provider.Status(ctx, s.Old.Pool)
		if err != nil {
			return err
		}
		if status.Phase != Ready {
			return fmt.Errorf("the deletion of %s was begun, so the migration cannot be undone", s.Old)
		}
	}
	s.Undo = true
	s.Step = s.Steps()[0]
	return m.Save(s)
}

// Run does the steps that are left. It can be called again after any error, and in another process.
func (m *Migration) Run(ctx context.Context) error {
	s := m.State
	for !s.Over() {
		m.Say("%s", s.Step)
		if err := m.do(ctx, s.Step); err != nil {
			return fmt.Errorf("%s: %w", s.Step, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		s.Step = s.next()
		if err := m.Save(s); err != nil {
			return err
		}
	}
	return nil
}

// do does one step. Each can be begun again.
func (m *Migration) do(ctx context.Context, step Step) error {
	s := m.State
	switch step {
	case AddPool:
		return m.addPool(ctx)
	case WaitNodes:
		return m.waitNodes(ctx)
	case CheckPool:
		return m.checkPool(ctx)
	case Cordon:
		return m.cordonAll(ctx, s.Old.Selector, &s.Nodes)
	case Drain:
		return m.drainAll(ctx, s.Old.Selector, &s.Nodes)
	case CheckOld:
		if err := m.waitNodes(ctx); err != nil {
			return err
		}
		return m.checkEmpty(ctx, s.Old)
	case AskDelete:
		return m.askDelete(ctx, s.Old, s.New)
	case DeleteOld:
		return m.deletePool(ctx, s.Old)
	case UndoUncordon:
		return m.uncordonOld(ctx)
	case UndoCordon:
		if _, err := m.settled(ctx, s.New); err != nil {
			return err
		}
		return m.cordonAll(ctx, s.New.Selector, &s.NewNodes)
	case UndoDrain:
		return m.drainAll(ctx, s.New.Selector, &s.NewNodes)
	case UndoCheck:
		return m.checkEmpty(ctx, s.New)
	case UndoAsk:
		return m.askDelete(ctx, s.New, s.Old)
	case UndoDelete:
		return m.deletePool(ctx, s.New)
	}
	return fmt.Errorf("the step %q does not exist", step)
}
