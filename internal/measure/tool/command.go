package tool

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// CommandName is the tool that runs programs of the experiment's own.
const CommandName = experiment.CommandMode

// commandProgram declares the programs of the experiment's own. What they measure, the file says.
func commandProgram() program {
	return program{
		declared: experiment.Tool{
			Name: CommandName,
			Does: []experiment.Capability{{
				Mode: experiment.CommandMode, Protocol: experiment.AnyProtocol,
				Duration: experiment.Durations{Min: time.Millisecond, Max: 24 * time.Hour, Step: time.Millisecond},
				Numbers:  map[string]experiment.Range{"iterations": {Min: 1, Max: 1e9}},
				Keys:     []string{"client", "server", "ready", "metrics"},
			}},
			Runs: "the words of `client` and `server`; see [command.md](command.md)", Systems: "Linux, Windows",
			Versions: "any", Prints: "what `metrics` says",
		},
		run: NewCommand(), parse: parseForeign,
		install: installation{on: []string{linux, windows}, source: "where the experiment's author got it",
			windows: "get it where the experiment's author got it"},
	}
}

// CommandTool runs programs of the experiment's own, and reads their figures as the experiment says.
type CommandTool struct{ known }

// NewCommand makes the tool. Which programs it needs differs from workload to workload.
func NewCommand() *CommandTool {
	return &CommandTool{known{CommandName, Probe{}}}
}

// Plan gives the experiment's command lines, with its placeholders replaced. The programs keep all rights of the
// host's user: they are that user's own.
func (*CommandTool) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(commandProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	fill := filler(w, bind, dial, pair.Server.Ports())
	p := Plan{
		Client: Command{Argv: filled(w.Command.Client, fill)}, Expected: w.Duration + 300*time.Millisecond,
	}
	if len(w.Command.Server) == 0 {
		return p, nil
	}
	p.Server = &Command{Argv: filled(w.Command.Server, fill)}
	p.ReadyCommand = filled(w.Command.Ready.Command, fill)
	if within := w.Command.Ready.Within; within != nil {
		p.ReadyWithin = *within
	}
	for _, one := range []struct{ protocol, port string }{
		{experiment.TCP, w.Command.Ready.TCP}, {experiment.UDP, w.Command.Ready.UDP},
	} {
		if port, err := strconv.Atoi(fill.Replace(one.port)); err == nil {
			p.Ready = Ready{Protocol: one.protocol, Port: port}
			p.Sockets = []host.Socket{{Protocol: one.protocol, Port: port}}
		}
	}
	return p, nil
}

// filler replaces the placeholders of command lines.
func filler(w experiment.Workload, bind, dial netip.Addr, ports host.Ports) *strings.Replacer {
	url := dial.String()
	if dial.Is6() {
		url = "[" + url + "]"
	}
	return strings.NewReplacer(
		experiment.PlaceServer, dial.String(), experiment.PlaceURL, url, experiment.PlaceBind, bind.String(),
		experiment.PlacePort, strconv.Itoa(ports.Data), experiment.PlacePort2, strconv.Itoa(ports.Control),
		experiment.PlaceSeconds, strconv.FormatFloat(w.Duration.Seconds(), 'f', -1, 64),
		experiment.PlaceIterations, strconv.Itoa(w.Iterations),
	)
}

func filled(words []string, fill *strings.Replacer) []string {
	var all []string
	for _, word := range words {
		all = append(all, fill.Replace(word))
	}
	return all
}

// Parse reads the figures that the workload names. A program that failed has none.
func (*CommandTool) Parse(out Output) (result.Measurement, error) {
	m := newMeasured(CommandName)
	m.Mode, m.Protocol = experiment.CommandMode, experiment.AnyProtocol
	if out.Workload == nil || out.Workload.Command == nil {
		return m.Measurement, errForeign
	}
	c := *out.Workload.Command
	m.seconds(out.Ran.Seconds())
	if out.ExitCode != 0 {
		if printed := lastLine(plain(out.Stdout)); printed != "" && lastLine(plain(out.Stderr)) == "" {
			return m.Measurement, errors.New("its last line on standard output: " + printed)
		}
		return m.Measurement, nil // how it ended is known
	}
	definition := commandDefinition(c)
	m.define(definition, definition)
	read := newFigures(out)
	for _, metric := range c.Metrics {
		if err := m.figure(metric, read); err != nil {
			m.Metrics, m.Histogram = []result.Metric{}, nil // a part of the figures could be taken for all
			return m.Measurement, err
		}
	}
	return m.Measurement, nil
}

// commandDefinition says what the figures of a program are. Figures of another program, or that are read otherwise,
// mean something else.
func commandDefinition(c experiment.Command) string {
	program, printed, ran := experiment.Program(c.Client), false, false
	for _, metric := range c.Metrics {
		printed, ran = printed || !metric.ExitTime, ran || metric.ExitTime
	}
	switch {
	case printed && ran:
		return "as printed by " + program + ", and its wall time"
	case ran:
		return "wall time of " + program
	}
	return "as printed by " + program
}

var errForeign = errors.New("the output of a program of an experiment's own is read as its experiment says, " +
	"and not alone")

func parseForeign(string) (result.Measurement, error) {
	return newMeasured(CommandName).Measurement, errForeign
}
