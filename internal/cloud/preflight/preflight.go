// Package preflight asks providers, before anything is made, what they would refuse: sizes that a subscription may not
// use, quotas, resource providers and APIs, permissions, images, policies, rules of placement, and what is retired. It
// asks with the user's own command line tools and their logins (az, aws, gcloud), changes nothing and costs nothing.
//
// The output of these programs is untrusted: it is bounded and parsed strictly. A question without an answer is never
// taken for "it would be made".
package preflight

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/cloud/cloudtool"
)

// A Status is what a check has found.
type Status string

// The results of a check.
const (
	// OK says that the provider would not refuse this.
	OK Status = "ok"
	// Refused says that the provider would refuse it.
	Refused Status = "would be refused"
	// Unknown says that nobody looked, and the check has the reason.
	Unknown Status = "not looked at"
)

// The kinds of checks.
const (
	checkLogin     = "login"
	checkSize      = "size"
	checkQuota     = "quota"
	checkProvider  = "provider"
	checkRights    = "permission"
	checkImage     = "image"
	checkPolicy    = "policy"
	checkPlacement = "placement"
	checkVersion   = "version"
	checkCapacity  = "capacity"
	checkLifecycle = "retirement"
	checkPlan      = "plan"
)

// A Check is one thing that was looked at, or not.
type Check struct {
	// Place is the provider, and where: azure westeurope.
	Place string `json:"place"`
	// Kind is what was looked at: size, quota, permission and so on.
	Kind string `json:"check"`
	// About is the thing: the name of a size, of a quota, of a permission.
	About  string `json:"about"`
	Status Status `json:"status"`
	// Found is what the provider says, with its figures, or why nobody looked.
	Found string `json:"found"`
	// Do is what helps; it can be empty.
	Do string `json:"do,omitempty"`
}

// A Checker asks providers.
type Checker struct {
	// Run runs the providers' programs. If it is nil, the programs of this machine are run.
	Run cloudtool.Runner
	// HTTP sends the one request for which gcloud has no command (testIamPermissions). Default http.DefaultClient.
	HTTP *http.Client
	// Limit is the time for all questions to one place. Default 3 minutes.
	Limit time.Duration
	// Now is today, for retirements.
	Now time.Time
}

const (
	defaultLimit = 3 * time.Minute
	// maxOutput bounds what a program may print, in bytes: the list of all sizes of a region has a few millions.
	maxOutput = 64 << 20
	// maxChecks bounds how many checks of one place are kept.
	maxChecks = 1000
)

// Check looks at all places. The checks are sorted: first what would be refused, then what nobody looked at.
func (c Checker) Check(ctx context.Context, wants Wants) []Check {
	if c.Run == nil {
		c.Run = func(ctx context.Context, program string, args ...string) ([]byte, error) {
			return cloudtool.Run(ctx, maxOutput, append([]string{program}, args...)...)
		}
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	var all []Check
	for _, why := range wants.Unknown {
		all = append(all, Check{Kind: checkPlan, About: "what is made", Status: Unknown, Found: why})
	}
	for _, p := range wants.Places {
		limited, cancel := context.WithTimeout(ctx, cmp.Or(c.Limit, defaultLimit))
		a := &asker{checker: c, place: p}
		switch p.Provider {
		case Azure:
			a.azure(limited)
		case AWS:
			a.aws(limited)
		case Google:
			a.google(limited)
		default:
			a.unknown(checkPlan, p.Provider, fmt.Errorf("nearfar knows no program that asks this provider"))
		}
		cancel()
		a.retirements(c.Now)
		if len(p.Machines) > 0 {
			a.note(checkCapacity, "room for the machines", Unknown,
				"no provider says before whether it has room at this moment", "name further sizes or zones under retry")
		}
		all = append(all, a.checks...)
	}
	order := []Status{Refused, Unknown, OK}
	slices.SortStableFunc(all, func(a, b Check) int {
		return cmp.Or(slices.Index(order, a.Status)-slices.Index(order, b.Status), strings.Compare(a.Place, b.Place),
			strings.Compare(a.Kind, b.Kind), strings.Compare(a.About, b.About))
	})
	return all
}

// Count counts the checks with a status.
func Count(all []Check, status Status) (n int) {
	for _, c := range all {
		if c.Status == status {
			n++
		}
	}
	return n
}

// An asker looks at one place. It is safe for concurrent use.
type asker struct {
	checker Checker
	place   Place

	mu     sync.Mutex
	checks []Check
}

// note notes a check.
func (a *asker) note(kind, about string, status Status, found, do string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.checks) < maxChecks {
		a.checks = append(a.checks, Check{
			Place: a.place.String(), Kind: kind, About: cloudtool.Short(about), Status: status,
			Found: cloudtool.Short(found), Do: do,
		})
	}
}

// unknown notes a check that was not made.
func (a *asker) unknown(kind, about string, err error) { a.note(kind, about, Unknown, err.Error(), "") }

// ask runs a program and reads the JSON that it prints.
func (a *asker) ask(ctx context.Context, into any, program string, args ...string) error {
	return cloudtool.Ask(ctx, a.checker.Run, nil, into, program, args...)
}

// quota compares what is used and what is wanted with a limit. A limit below 0 is none.
func (a *asker) quota(about string, used, wanted, limit float64, do string) {
	found := fmt.Sprintf("%g of %g are used, and %g more are wanted", used, limit, wanted)
	status := OK
	if limit < 0 {
		found = fmt.Sprintf("%g are used, without a limit", used)
	} else if used+wanted > limit {
		status = Refused
		found += fmt.Sprintf(": %g too many", used+wanted-limit)
	}
	if status == OK {
		do = ""
	}
	a.note(checkQuota, about, status, found, do)
}
