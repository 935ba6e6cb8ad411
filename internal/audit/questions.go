package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"nearfar/internal/cloudtool"
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
	command := cloudtool.Name(append([]string{program}, args...)...)
	out, err := s.run(ctx, program, args...)
	switch {
	case cloudtool.Missing(err):
		return fmt.Errorf("%s is not installed", program)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in time", program)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return explain(program, command, err)
	}
	// gcloud and aws print nothing instead of an empty list in some cases.
	if len(strings.TrimSpace(string(out))) == 0 {
		return nil
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("%s: what it prints cannot be read: %w", command, err)
	}
	return nil
}

// concurrently is how many programs run at once: each takes about a second of a CPU.
const concurrently = 4

// each runs tasks, some at once, and returns when all have ended.
func each(tasks ...func()) {
	free := make(chan struct{}, concurrently)
	var all sync.WaitGroup
	for _, task := range tasks {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			task()
		})
	}
	all.Wait()
}

// logins lists texts by which programs say that nobody is logged in, each with advice.
func logins() []struct{ text, help string } {
	const (
		az     = "log in with: az login"
		aws    = "give aws credentials, for example with: aws configure, or aws sso login"
		gcloud = "log in with: gcloud auth login"
	)
	return []struct{ text, help string }{
		{"az login", az}, {"AADSTS", az}, {"az account set", "choose a subscription with: az account set"},
		{"Unable to locate credentials", aws}, {"ExpiredToken", aws}, {"InvalidClientTokenId", aws},
		{"UnrecognizedClientException", aws}, {"AuthFailure", aws}, {"aws sso login", aws},
		{"You must specify a region", "name the region with: --provider aws:REGION"},
		{"gcloud auth login", gcloud}, {"Reauthentication", gcloud},
		{"property [project] is not currently set", "name the project with: --provider google:PROJECT"},
		{"required property [project]", "name the project with: --provider google:PROJECT"},
	}
}

// explain makes the error of a program that failed: what it said, and what helps.
func explain(program, command string, err error) error {
	for _, l := range logins() {
		if strings.Contains(err.Error(), l.text) {
			return &problem{fmt.Sprintf("%s cannot ask: %s (it says: %s)", program, l.help, short(err.Error())), err}
		}
	}
	return &problem{fmt.Sprintf("%s: %s", command, short(err.Error())), err}
}

// A problem is an error with another text.
type problem struct {
	text string
	err  error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.err }

// maxText bounds the stored text of a message, in bytes.
const maxText = 300

// short is the beginning of a message, in one line.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	return text
}
