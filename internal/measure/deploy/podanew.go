package deploy

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/kube"
)

// anewWarnings say that the pods were made anew in the middle of a deployment: after one was lost, or because the run
// was resumed. The facts of the trials name the pods.
func anewWarnings(trials []result.Trial) []result.Warning {
	// pods are the pods of each arm's latest trial, by arm and side. times counts how often an arm got other pods.
	type side struct{ arm, name string }
	type place struct{ pod, node string }
	pods, times := map[side]place{}, map[string]int{}
	var since, moved []string
	for _, t := range trials {
		if t.Deployment > 0 {
			return nil // the schedule asks for other pods, and the answer counts with it
		}
		others := false
		for _, name := range []string{kube.Client, kube.Server} {
			at, now := side{t.Arm, name}, place{t.Facts[name+".pod"], t.Facts[name+".node"]}
			before, known := pods[at]
			if now.pod == "" {
				continue
			}
			pods[at] = now
			if !known || before.pod == now.pod {
				continue
			}
			others = true
			text := fmt.Sprintf("the %s on node %s instead of %s", name, now.node, before.node)
			if before.node != now.node && !slices.Contains(moved, text) {
				moved = append(moved, text)
			}
		}
		if !others {
			continue
		}
		// The pods of all arms are made anew together: the arm that finds it first counts.
		if times[t.Arm]++; times[t.Arm] > len(since) {
			since = append(since, fmt.Sprint(t.Trial))
		}
	}
	if len(since) == 0 {
		return nil
	}
	text := "the pods were made anew in the middle of the run (from trial " +
		strings.Join(since, ", again from trial ") + " on), so the trials did not all run in the same pods"
	if len(moved) > 0 {
		text += ": " + strings.Join(moved, ", ")
	}
	return []result.Warning{{Code: "pods-made-anew", Message: text}}
}
