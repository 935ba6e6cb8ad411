package cli

import (
	"cmp"
	"fmt"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/pool"
)

// poolPlan is what migrate-pool prints before it changes anything.
type poolPlan struct {
	state  *pool.State
	survey *pool.Survey
	// add is the command that makes the new pool, with count nodes; nil if none is made.
	add         []string
	count       int
	differences []string
}

func (p *poolPlan) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(clean.Line(fmt.Sprintf(format, args...)) + "\n") }
	s := p.state
	line("From %s to %s, in context %s", s.Old, s.New, s.Context)
	line("")
	line("Steps:")
	for i, step := range s.Steps() {
		line("  %d. %-24s %s", i+1, step, p.about(step))
	}
	line("")
	line("Nodes of %s, and the pods that move:", s.Old)
	for _, n := range p.survey.Nodes {
		cordoned := textIf(n.Cordoned, ", already cordoned")
		line("  %s: %d pods move, %d pods stay (DaemonSets, static pods)%s", n.Name, len(n.Moving), n.Staying, cordoned)
		for _, m := range n.Moving {
			line("    %s", movingText(m))
		}
	}
	if len(p.survey.NewNodes) > 0 {
		line("Nodes of %s: %s", s.New, strings.Join(p.survey.NewNodes, ", "))
	}
	for _, budget := range p.survey.Budgets {
		line("%s", budget)
	}
	for _, problem := range p.survey.Problems {
		what := "Allowed by " + problem.Flag
		switch {
		case problem.Allowed:
		case problem.Flag == "":
			what = "Stops the migration"
		default:
			what = "Stops the migration without " + problem.Flag
		}
		line("%s: %s", what, problem.Text)
	}
	for _, note := range p.survey.Notes {
		line("Note: %s", note)
	}
	return b.String()
}

func movingText(m pool.MovingPod) string {
	parts := []string{m.Namespace + "/" + m.Name, cmp.Or(m.Workload, "no controller")}
	if m.EmptyDir {
		parts = append(parts, "emptyDir")
	}
	if len(m.Budgets) > 0 {
		parts = append(parts, "PodDisruptionBudget "+strings.Join(m.Budgets, ", "))
	}
	return strings.Join(parts, "; ")
}

// about says what a step does.
func (p *poolPlan) about(step pool.Step) string {
	s := p.state
	switch step {
	case pool.AddPool:
		return "az " + strings.Join(p.add, " ")
	case pool.WaitNodes:
		if p.count > 0 {
			return fmt.Sprintf("until %d nodes of %s are ready, for at most %v", p.count, s.New, s.Limits.Nodes)
		}
		return fmt.Sprintf("until a node of %s is ready, for at most %v", s.New, s.Limits.Nodes)
	case pool.CheckPool:
		return fmt.Sprintf("whether accelerated networking of %s is on, as far as it can be seen", s.New)
	case pool.Cordon:
		return fmt.Sprintf("%d nodes", len(p.survey.Nodes))
	case pool.Drain:
		return fmt.Sprintf("node by node, each for at most %v; until the workloads are ready, for at most %v; then "+
			"wait %v", s.Limits.Drain, s.Limits.Workloads, s.Limits.Pace)
	case pool.CheckOld:
		return "whether only pods of DaemonSets are left there, and the workloads are ready"
	case pool.AskDelete:
		return "needs a yes"
	case pool.DeleteOld:
		return fmt.Sprintf("az aks nodepool delete --name %s; it cannot be undone", s.Old.Pool)
	case pool.Done:
		if s.KeepOld {
			return fmt.Sprintf("%s stays, cordoned and empty", s.Old)
		}
	}
	return ""
}
