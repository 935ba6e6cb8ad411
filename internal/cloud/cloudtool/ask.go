package cloudtool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// A Runner runs a program with arguments and gives its standard output. Its error says why there is none; an answer of
// the program itself, with exit code and standard error, is a FailedError.
type Runner func(ctx context.Context, program string, args ...string) ([]byte, error)

// An Advice is what helps against an error of a program that has a text.
type Advice struct{ Text, Help string }

// Ask runs a program and reads the JSON that it prints into a value. An empty output changes nothing: gcloud and aws
// print nothing instead of an empty list in some cases. The error is one line. It has advice if the program says that
// nobody is logged in, or a text of further.
func Ask(ctx context.Context, run Runner, further []Advice, into any, program string, args ...string) error {
	command := Name(append([]string{program}, args...)...)
	out, err := run(ctx, program, args...)
	switch {
	case Missing(err):
		return fmt.Errorf("%s is not installed", program)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in time", program)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return explain(program, command, further, err)
	}
	if len(strings.TrimSpace(string(out))) == 0 {
		return nil
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("%s: what it prints cannot be read: %w", command, err)
	}
	return nil
}

// logins lists texts by which programs say that nobody is logged in.
func logins() []Advice {
	const (
		az     = "log in with: az login"
		aws    = "give aws credentials, for example with: aws configure, or aws sso login"
		gcloud = "log in with: gcloud auth login"
	)
	return []Advice{
		{"az login", az}, {"AADSTS", az}, {"az account set", "choose a subscription with: az account set"},
		{"Unable to locate credentials", aws}, {"ExpiredToken", aws}, {"InvalidClientTokenId", aws},
		{"UnrecognizedClientException", aws}, {"AuthFailure", aws}, {"aws sso login", aws},
		{"gcloud auth login", gcloud}, {"Reauthentication", gcloud},
	}
}

// explain makes the error of a program that failed: what it said, and what helps.
func explain(program, command string, further []Advice, err error) error {
	for _, l := range append(logins(), further...) {
		if strings.Contains(err.Error(), l.Text) {
			return &problem{fmt.Sprintf("%s cannot ask: %s (it says: %s)", program, l.Help, Short(err.Error())), err}
		}
	}
	return &problem{fmt.Sprintf("%s: %s", command, Short(err.Error())), err}
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

// Short is the beginning of a message, in one line.
func Short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	return text
}

// concurrently is how many programs run at once: each takes about a second of a CPU.
const concurrently = 4

// Each runs tasks, some at once, and returns when all have ended.
func Each(tasks ...func()) {
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
