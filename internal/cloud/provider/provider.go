// Package provider asks the providers of clouds where they placed machines. It runs the user's own aws, az and gcloud
// on the machine that runs nearfar, with commands that change nothing. nearfar passes no credentials: each program uses
// the login that it has. The names of machines come from the machines themselves, so they are checked before a program
// gets them. What the programs print is untrusted: it is bounded, and checked before it is used.
package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/check"
)

// Limits bound the questions.
type Limits struct {
	// Call bounds one run of a program, All all of them together.
	Call, All time.Duration
	// Machines is the greatest number of machines that are asked about, AtOnce how many programs run at the same time.
	Machines, AtOnce int
}

// DefaultLimits are for users: az and gcloud take some seconds for each call.
func DefaultLimits() Limits {
	return Limits{Call: 30 * time.Second, All: time.Minute, Machines: 64, AtOnce: 4}
}

const (
	// maxText bounds a text of an answer, maxProblem a reason, in bytes.
	maxText    = 512
	maxProblem = 400
)

// Ask asks the providers about machines, which are identified by the answers of their metadata services. Only the
// providers of the given clouds are asked. The result has one element for each machine; it is nil for a machine whose
// provider was not asked, and says why if there is no answer.
func Ask(ctx context.Context, clouds []string, machines []*check.Where, l Limits) []*check.Provider {
	ctx, cancel := context.WithTimeout(ctx, l.All)
	defer cancel()
	s := &session{limits: l, running: make(chan struct{}, l.AtOnce), calls: map[string]func() ([]byte, error){}}
	answers := make([]*check.Provider, len(machines))
	var all sync.WaitGroup
	asked := 0
	for i, w := range machines {
		if w == nil || !slices.Contains(clouds, w.Cloud) {
			continue
		}
		p := &check.Provider{}
		answers[i] = p
		if asked++; asked > l.Machines {
			p.Problem = fmt.Sprintf("the provider is asked about %d machines at most", l.Machines)
			continue
		}
		all.Go(func() {
			q := &question{session: s, answer: p}
			if err := q.ask(ctx, w); err != nil {
				p.Problem = clean.Cut(clean.Line(err.Error()), maxProblem)
			}
		})
	}
	all.Wait()
	return answers
}

// Commands are the commands that ask the provider of a cloud, with words in capital letters for what depends on the
// machine.
func Commands(cloud string) []string {
	var all []string
	for _, argv := range map[string][][]string{
		check.CloudAWS: {awsTopology("REGION", "INSTANCE"), awsGroup("REGION", "GROUP")},
		check.CloudAzure: {
			azShow("vm", resource{"SUBSCRIPTION", "GROUP", "MACHINE"}),
			azGroup(resource{"SUBSCRIPTION", "GROUP", "NAME"}),
			azInterface(resource{"SUBSCRIPTION", "GROUP", "INTERFACE"}),
		},
		check.CloudGCP: {gcloudDescribe("PROJECT", "ZONE", "INSTANCE"), gcloudPolicy("PROJECT", "REGION", "POLICY")},
	}[cloud] {
		all = append(all, strings.Join(argv, " "))
	}
	return all
}

// question is a question about one machine.
type question struct {
	*session
	answer *check.Provider
}

func (q *question) ask(ctx context.Context, w *check.Where) error {
	switch w.Cloud {
	case check.CloudAWS:
		return q.aws(ctx, w)
	case check.CloudAzure:
		return q.azure(ctx, w)
	case check.CloudGCP:
		return q.gcp(ctx, w)
	}
	return fmt.Errorf("no provider of %q is known", w.Cloud)
}

// read runs a command for the answer, and reads the JSON that it prints.
func (q *question) read(ctx context.Context, argv []string, into any) error {
	q.answer.Commands = append(q.answer.Commands, strings.Join(argv, " "))
	return q.run(ctx, argv, into)
}

// text makes a text of an answer safe to keep.
func text(s string) string { return clean.Cut(clean.Line(s), maxText) }
