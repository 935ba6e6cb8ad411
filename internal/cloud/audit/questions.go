package audit

import (
	"context"
	"fmt"
	"sync"

	"nearfar/internal/cloud/cloudtool"
)

// questions are the questions to one place, and their answers. It is safe for concurrent use.
type questions struct {
	run   Run
	place Place
	// value is the value of TagRun.
	value string

	mu      sync.Mutex
	found   []Resource
	unknown []string
}

// add notes resources.
func (s *questions) add(all ...Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := maxListed - len(s.found); len(all) > room {
		all = all[:room]
		s.unknown = append(s.unknown, fmt.Sprintf("more than %d resources are listed: others are not shown", maxListed))
	}
	s.found = append(s.found, all...)
}

// fail notes a question without an answer.
func (s *questions) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown = append(s.unknown, err.Error())
}

// ask runs a program and reads the JSON that it prints.
func (s *questions) ask(ctx context.Context, into any, program string, args ...string) error {
	return cloudtool.Ask(ctx, cloudtool.Runner(s.run), places(), into, program, args...)
}

// places says what helps if a program does not know where to look.
func places() []cloudtool.Advice {
	return []cloudtool.Advice{
		{Text: "You must specify a region", Help: "name the region with: --provider aws:REGION"},
		{Text: "property [project] is not currently set", Help: "name the project with: --provider google:PROJECT"},
		{Text: "required property [project]", Help: "name the project with: --provider google:PROJECT"},
	}
}
