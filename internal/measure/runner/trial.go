package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// trial runs a workload once in an arm and returns its record. A failed measurement is part of the record. An error
// says that a host is lost, that the record's files cannot be written, or that the trial was given up.
func (r *Runner) trial(ctx context.Context, slot experiment.Slot, turn turn) (result.Trial, error) {
	cell := r.cells.In(slot)
	w := cell.Workload
	trial := result.Trial{
		Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload, Repeat: slot.Repeat,
		Replaces: slot.Replaces, Deployment: r.deployed.recorded(),
		Tool: result.ToolVersion{Name: w.Tool, Version: r.versions[w.Tool]}, Mode: w.Mode, Protocol: w.Protocol,
		Started: time.Now().UTC(), ReportedAs: result.DefinitionNone, Definition: result.DefinitionNone,
		Metrics: []result.Metric{}, Raw: []string{}, Treatment: map[string]string{},
		Set: cell.Set,
	}
	failed := func(err error) (result.Trial, error) {
		trial.Error = err.Error()
		return trial, nil
	}
	t, ok := r.tools.Lookup(w.Tool)
	if !ok {
		return failed(fmt.Errorf("nearfar cannot run %s", w.Tool))
	}
	hosts := r.hosts[slot.Arm]
	work, behind, err := r.job(t, w, slot.Arm)
	if err != nil {
		return failed(err)
	}
	secret, out := work.plan.Redactor(), work.out
	trial.Commands = commandLines(work.plan, behind)
	begun, watched := hosts.Machines.Watch(ctx, work.clientCPUs, work.serverCPUs)
	work.after, work.ending = turn.after, turn.ending
	watch := r.watch(w, slot.Arm, work.plan.Expected)
	defer watch.end()
	capture := r.capturing(w, slot, work.plan.Expected)
	defer capture.end()
	work.begun = func() error {
		if err := turn.await(ctx); err != nil {
			return err
		}
		if turn.open != nil {
			trial.Started = time.Now().UTC()
		}
		begun()
		watch.begin(ctx)
		capture.begin(ctx)
		return nil
	}
	runErr := r.limits.execute(ctx, work, behind, hosts)
	recordings, captures := watch.end(), capture.end()
	gaveUp := turn.await(ctx)
	seen := watched()
	if gaveUp != nil {
		return trial, gaveUp
	}
	if err := lost(hosts, runErr); err != nil {
		trial.Facts = seen.Facts // where the hosts were
		return trial, &redactedError{err, secret}
	}
	var m result.Measurement
	var parseErr error
	if out.cut() == "" { // nothing is read from a flood
		m, parseErr = t.Parse(out.parsable(&w, runErr))
		if parseErr != nil && runErr == nil && w.Mode == experiment.CommandMode {
			parseErr = &host.Error{Host: hosts.Client.Endpoint().Name, Argv: work.plan.Client.Argv, Output: out.last(),
				Err: parseErr}
		}
		trial.Record(m)
	}
	trial.Facts = withPlacement(trial.Facts, w.Placement.Kind, work.clientCPUs, work.serverCPUs)
	observationFacts(seen, trial.Facts)
	trial.Error = secret.Replace(reason(runErr, parseErr, out))
	files := out.files("")
	for i := range files {
		files[i].data = redacted(files[i].data, secret, work.plan)
	}
	if behind != nil {
		if failed := behind.record(&trial); failed != "" && (trial.Error == "" || behind.failed != nil) {
			trial.Error = failed
		}
		files = append(files, behind.out.files("."+result.Background)...)
	}
	prove(&trial, w)
	r.observe(&trial, w, hosts, seen)
	// A record beyond the bounds of reading would make the whole run unreadable. The outputs are kept in any case.
	trial.Bound()
	return trial, errors.Join(r.keep(&trial, files, m.Histogram), r.keepInside(&trial, recordings),
		r.keepCaptures(&trial, captures))
}

// lost says why the hosts were lost, from their machines or from the trial's error; nil if they were not.
func lost(hosts host.Hosts, runErr error) error {
	if err := hosts.Machines.Lost(); err != nil {
		return err
	}
	if errors.Is(runErr, host.ErrLost) {
		return runErr
	}
	return nil
}

// redactedError is an error whose text has no secret.
type redactedError struct {
	error
	secret *strings.Replacer
}

func (e *redactedError) Error() string { return e.secret.Replace(e.error.Error()) }
func (e *redactedError) Unwrap() error { return e.error }

// redacted is an output without the secrets of the plan.
func redacted(data []byte, secret *strings.Replacer, p tool.Plan) []byte {
	if p.Client.Secret == "" && (p.Server == nil || p.Server.Secret == "") {
		return data // outputs can be long
	}
	return []byte(secret.Replace(string(data)))
}

// commandLines are the exact command lines, without secrets, server first, followed by those of the background. nearfar
// starts them with fewer rights (docs/security.md), which is not part of them.
func commandLines(p tool.Plan, behind *background) []string {
	var lines []string
	if p.Server != nil {
		lines = append(lines, commandLine(*p.Server))
	}
	if p.ReadyCommand != nil {
		lines = append(lines, CommandLine(p.ReadyCommand))
	}
	lines = append(lines, commandLine(p.Client))
	if behind != nil {
		lines = append(lines, commandLines(behind.plan, nil)...)
	}
	return lines
}

// commandLine is a command as one would type it in a shell.
func commandLine(c tool.Command) string {
	words := append(append([]string(nil), c.Env...), c.Argv...)
	for i, word := range words {
		if c.Secret != "" && word == c.Secret {
			words[i] = tool.Redacted
		}
	}
	return CommandLine(words)
}

// CommandLine writes words as one would type them in a shell.
func CommandLine(words []string) string {
	words = slices.Clone(words)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`;&|<>()*?[]#~{}!") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// withPlacement adds to the facts the CPUs that client and server were allowed to use.
func withPlacement(facts map[string]string, kind string, client, server []int) map[string]string {
	if facts == nil {
		facts = map[string]string{}
	}
	facts["placement"] = kind
	facts["placement.client.cpus"] = cpuList(client)
	facts["placement.server.cpus"] = cpuList(server)
	return facts
}

func cpuList(cpus []int) string {
	if len(cpus) == 0 {
		return "any"
	}
	return strings.Trim(fmt.Sprint(cpus), "[]")
}

// reason says in one line why a trial failed; "" if it did not. The parser's error comes first: it says more than an
// exit status.
func reason(runErr, parseErr error, out *outputs) string {
	switch cut := out.cut(); {
	case cut != "" && runErr != nil:
		return fmt.Sprintf("%s (%v)", cut, runErr)
	case parseErr != nil && runErr != nil:
		return fmt.Sprintf("%v (%v)", parseErr, runErr)
	case parseErr != nil:
		return parseErr.Error()
	case runErr != nil:
		return runErr.Error()
	}
	return out.cut()
}

// stemOf begins the names of a trial's files.
func stemOf(trial *result.Trial) string {
	return fmt.Sprintf("%05d-%s-%s", trial.Trial, trial.Arm, trial.Workload)
}

// keep writes the trial's outputs and its histogram into the run directory.
func (r *Runner) keep(trial *result.Trial, files []file, histogram []byte) error {
	stem := stemOf(trial)
	for _, file := range files {
		if len(file.data) == 0 {
			continue
		}
		name, err := r.record.WriteRaw(stem+file.suffix, file.data)
		if err != nil {
			return fmt.Errorf("trial %d cannot be kept: %w", trial.Trial, err)
		}
		trial.Raw = append(trial.Raw, name)
	}
	if len(histogram) > 0 {
		name, err := r.record.WriteRaw(stem+".hdr", histogram)
		if err != nil {
			return fmt.Errorf("trial %d cannot be kept: %w", trial.Trial, err)
		}
		trial.Histogram = name
	}
	return nil
}
