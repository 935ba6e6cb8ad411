// Package audit asks cloud providers what they still have of a run. It finds resources by their tags, with the user's
// own command line tools and their logins: az, aws and gcloud. It changes nothing.
//
// The output of these programs is untrusted: it is bounded and parsed strictly, and callers that show it make it safe
// for a terminal. A question without an answer never counts as "nothing is left".
package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The tags of every resource that is made for an experiment. Labels of Google Cloud have the same names, and so have
// the variables of modules that hold the values.
const (
	// TagOwner is who made it: user@host.
	TagOwner = "nearfar_owner"
	// TagRun is the name of the experiment.
	TagRun = "nearfar_run"
	// TagExpires is until when it is meant to exist, as in RFC 3339.
	TagExpires = "nearfar_expires"
)

// The providers that can be asked.
const (
	AWS    = "aws"
	Azure  = "azure"
	Google = "google"
)

// A Place is a part of a provider that is asked by itself.
type Place struct {
	// Provider is AWS, Azure or Google; or another provider by its address in a registry, which cannot be asked.
	Provider string `json:"provider"`
	// Part is a region of AWS, a subscription of Azure or a project of Google Cloud. If it is empty, the provider's
	// program uses its own default.
	Part string `json:"part,omitempty"`
}

// String names the place: "aws us-east-1".
func (p Place) String() string { return strings.TrimSpace(p.Provider + " " + p.Part) }

// A Query says what to look for, and where.
type Query struct {
	// Run is the value of TagRun.
	Run string
	// Owner is the owner whose resources count as left. Resources of other owners are listed apart; resources without
	// an owner count. If Owner is empty, all resources count.
	Owner string
	// Places are asked one after another.
	Places []Place
	// Wait is for how long a place is asked again while it lists something: providers list deleted resources for a
	// while.
	Wait time.Duration
}

// A Resource is what a provider lists.
type Resource struct {
	Place Place `json:"place"`
	// Kind is the provider's word for what it is, such as Microsoft.Compute/disks or volume.
	Kind string `json:"kind"`
	// ID is the provider's identifier.
	ID string `json:"id"`
	// Owner and Expires are the values of the tags; empty if the provider does not list them.
	Owner   string `json:"owner,omitempty"`
	Expires string `json:"expires,omitempty"`
}

// String is one line.
func (r Resource) String() string { return fmt.Sprintf("%s: %s %s", r.Place, r.Kind, r.ID) }

// An Answer is the state of one place.
type Answer struct {
	Place Place `json:"place"`
	// Left are the resources of the run.
	Left []Resource `json:"left,omitempty"`
	// Others are resources of runs of the same name that belong to other owners.
	Others []Resource `json:"others,omitempty"`
	// Unknown says which questions have no answer, and why. If there are any, more may be left than Left has.
	Unknown []string `json:"unknown,omitempty"`
}

// None says that the place has nothing of the run, and that all questions were answered.
func (a Answer) None() bool { return len(a.Left) == 0 && len(a.Unknown) == 0 }

// Run runs a program with arguments and gives its standard output. Its error says why there is none; an answer of the
// program itself, with exit code and standard error, is a cloudtool.FailedError.
type Run func(ctx context.Context, program string, args ...string) ([]byte, error)

// An Auditor asks providers.
type Auditor struct {
	// Run runs the providers' programs. If it is nil, the programs of this machine are run.
	Run Run
	// Limit is the time for all questions to one place. Default 3 minutes.
	Limit time.Duration
	// Pause is the time between two rounds of questions; see Query.Wait. Default 5 seconds.
	Pause time.Duration
}

const (
	defaultLimit = 3 * time.Minute
	defaultPause = 5 * time.Second
	// maxListed bounds how many resources of one place are kept.
	maxListed = 10_000
)

// Audit asks all places of a query. There is an answer for each.
func (a Auditor) Audit(ctx context.Context, q Query) (answers []Answer) {
	if a.Run == nil {
		a.Run = Installed
	}
	a.Limit, a.Pause = cmp.Or(a.Limit, defaultLimit), cmp.Or(a.Pause, defaultPause)
	for _, place := range q.Places {
		answers = append(answers, a.place(ctx, q, place))
	}
	return answers
}

// place asks one place until it lists nothing, or q.Wait has passed.
func (a Auditor) place(ctx context.Context, q Query, place Place) Answer {
	ask := map[string]func(*questions, context.Context){
		AWS: (*questions).aws, Azure: (*questions).azure, Google: (*questions).google,
	}[place.Provider]
	if ask == nil {
		return Answer{Place: place, Unknown: []string{"nearfar knows no program that lists what this provider has"}}
	}
	end := time.Now().Add(q.Wait)
	for {
		s := &questions{run: a.Run, place: place, value: q.Run}
		limited, cancel := context.WithTimeout(ctx, a.Limit)
		ask(s, limited)
		cancel()
		answer := s.answer(q.Owner)
		if len(answer.Left) == 0 || !time.Now().Before(end) || ctx.Err() != nil {
			return answer
		}
		select {
		case <-ctx.Done():
			return answer
		case <-time.After(a.Pause):
		}
	}
}

// answer sorts the results.
func (s *questions) answer(owner string) Answer {
	answer := Answer{Place: s.place}
	slices.SortFunc(s.found, func(a, b Resource) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)),
			-strings.Compare(a.Owner, b.Owner))
	})
	same := func(a, b Resource) bool { return a.Kind == b.Kind && strings.EqualFold(a.ID, b.ID) }
	for _, r := range slices.CompactFunc(s.found, same) {
		r.Place = s.place
		if owner == "" || r.Owner == "" || r.Owner == s.ownerTag(owner) {
			answer.Left = append(answer.Left, r)
		} else {
			answer.Others = append(answer.Others, r)
		}
	}
	slices.Sort(s.unknown)
	answer.Unknown = slices.Compact(s.unknown)
	return answer
}

// ownerTag is how an owner is written in a tag of this place.
func (s *questions) ownerTag(owner string) string {
	if s.place.Provider == Google {
		return Label(owner)
	}
	return owner
}

// Label writes a text as the value of a label of Google Cloud: at most 63 small letters, digits, - and _. All other
// characters become -.
func Label(text string) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		}
		return '-'
	}, strings.ToLower(text))
	return text[:min(len(text), 63)]
}
