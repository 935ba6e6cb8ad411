package tool

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

const (
	pgbenchName = experiment.Pgbench
	// definitionPgbench is the time of a transaction, from its first statement until the answer to its last one.
	definitionPgbench = "transaction time as printed by pgbench"
	// postgresPort is the port of PostgreSQL where PGPORT names none.
	postgresPort = "5432"
)

// pgbenchProgram declares pgbench's built-in scripts, on a PostgreSQL of the user's own. It has no warm-up.
func pgbenchProgram() program {
	return program{
		declared: experiment.Tool{
			Name: pgbenchName, Does: []experiment.Capability{{
				Mode: experiment.Pgbench, Protocol: experiment.TCP,
				Numbers:  map[string]experiment.Range{"concurrency": {Min: 1, Max: 1024}},
				Duration: wholeSeconds(), Keys: []string{"connect", "script"},
			}},
			Runs: "`pgbench --no-vacuum -b -c -T`", Systems: "Linux", Versions: "15 run; 14 to 17 read",
			Prints: "the mean time of a transaction, in ms; transactions/s",
		},
		run: NewPgbench(), mark: pgbenchMark, parse: parsePgbench,
		install: installation{
			on: []string{linux}, apt: "postgresql", dnf: "postgresql-contrib", pacman: "postgresql",
			source: "https://www.postgresql.org/ftp/source/",
		},
	}
}

// Pgbench is PostgreSQL's pgbench.
type Pgbench struct {
	known
	// variable reads the environment of the machine where nearfar runs.
	variable func(name string) (string, bool)
}

// NewPgbench makes the tool.
func NewPgbench() *Pgbench {
	return &Pgbench{known{pgbenchName, probe(pgbenchVersion, []string{pgbenchName}, pgbenchName, "--version")},
		os.LookupEnv}
}

// pgVariables are the variables of nearfar's environment that pgbench gets: who it is for the database, and what the
// database is called.
func pgVariables() []string { return []string{"PGUSER", "PGPASSWORD", "PGDATABASE", "PGSSLMODE"} }

// withVariables reads lines NAME=VALUE from standard input into the environment, and becomes the program behind it. A
// password is then neither on a command line nor in a record.
const withVariables = `while IFS= read -r line; do export "$line"; done; exec "$@"`

// Plan gives a client of the database at the arm's server, which runs already.
func (p *Pgbench) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	_, dial, err := addressesFor(pgbenchProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	port, _ := p.variable("PGPORT")
	seconds := whole(w.Duration)
	argv := []string{
		"sh", "-c", withVariables, "sh", cmp.Or(pair.Client.Tools[pgbenchName], pgbenchName), "-h", dial.String(), "-p",
		cmp.Or(port, postgresPort), "--no-vacuum", "-b", cmp.Or(w.Script, experiment.TPCB), "-c",
		strconv.Itoa(max(1, w.Concurrency)), "-j", "1", "-T", strconv.Itoa(seconds),
	}
	if w.Connect == experiment.PerRequest {
		argv = append(argv, "-C")
	}
	var private strings.Builder
	for _, name := range pgVariables() {
		if value, set := p.variable(name); set {
			private.WriteString(name + "=" + value + "\n")
		}
	}
	return Plan{
		// It keeps the rights of the host's user, whose ~/.pgpass and certificates it may need.
		Client:   Command{Argv: argv, Env: []string{"LC_ALL=C"}, Stdin: []byte(private.String())},
		Expected: time.Duration(seconds)*time.Second + time.Second,
	}, nil
}

// Parse reads what the client printed.
func (*Pgbench) Parse(out Output) (result.Measurement, error) {
	return parseText(pgbenchName, out, parsePgbench)
}

var (
	pgbenchVersion = lazyregexp.New(`(?m)^pgbench \((?:PostgreSQL\) )?(\d[\w.]*)`)
	pgbenchKey     = lazyregexp.New(`^(transaction type|scaling factor|number of clients|` +
		`maximum number of tries|duration|number of transactions actually processed|number of failed transactions|latency average|latency stddev|` +
		`initial connection time|average connection time|tps)\s*[:=]\s*(\S.*)$`)
	pgbenchError = lazyregexp.New(`^pgbench: (?:error|fatal): (.*)$`)
)

// pgbenchMark recognises lines of pgbench's output.
func pgbenchMark(line string) mark {
	if strings.HasPrefix(line, "pgbench (") && pgbenchVersion.MatchString(line) {
		return markBanner
	}
	s := pgbenchKey.FindStringSubmatch(line)
	switch {
	case s == nil:
		return markNone
	case s[1] == "transaction type":
		return markHeader
	case s[1] == "latency average":
		return markResult
	case s[1] == "tps" && !strings.Contains(s[2], "(excluding"): // which follows another one
		return markTail
	}
	return markWeak
}

// parsePgbench reads one run. The format is what printResults of src/bin/pgbench/pgbench.c prints.
func parsePgbench(text string) (result.Measurement, error) {
	m := newMeasured(pgbenchName)
	m.Mode, m.Protocol = experiment.Pgbench, ""
	m.Tool.Version = find(pgbenchVersion, text)
	failure := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if said := find(pgbenchError, line); said != "" && failure == "" {
			failure = excerpt(said) // the first one says why, the others what follows from it
		}
		s := pgbenchKey.FindStringSubmatch(line)
		if s == nil {
			continue
		}
		value, _, _ := strings.Cut(s[2], " ")
		switch s[1] {
		case "transaction type":
			m.fact("script", s[2])
		case "scaling factor":
			m.fact("scale", value)
		case "number of clients":
			m.fact("connections", value)
		case "duration":
			m.printedSeconds(value)
		case "number of transactions actually processed":
			value, _, _ = strings.Cut(value, "/") // of so many that were asked for
			m.addPrinted(result.Received, "", value, 1, "")
		case "number of failed transactions":
			m.fact("errors", value)
			if integer(value) > 0 {
				m.note("%s transactions failed; they have no time in the figures.", value)
			}
		case "latency average":
			m.addPrinted(result.ResponseTime, result.Mean, value, millisecond, "")
		case "latency stddev":
			m.addPrinted(result.ResponseTime, result.Stddev, value, millisecond, "")
		case "average connection time":
			m.addPrinted(result.ConnectTime, result.Mean, value, millisecond, "")
		case "tps":
			if !m.has(result.TransactionRate) { // older versions have a second one, which includes connecting
				m.addPrinted(result.TransactionRate, "", value, 1, "")
			}
		}
	}
	return pgbenchJudged(m, failure)
}

// pgbenchJudged says why there are no figures, or what they are.
func pgbenchJudged(m *measured, failure string) (result.Measurement, error) {
	switch {
	case m.hasZero(result.Received) || !m.has(result.TransactionRate) || !m.has(result.ResponseTime):
		m.Metrics = m.Metrics[:0]
		return m.Measurement, errors.New("pgbench: " + cmp.Or(failure,
			"it printed no result: it was ended before its end, or the output is cut off"))
	case failure != "":
		m.note("pgbench ended before its time for a part of its clients: %s.", failure)
	}
	m.define(definitionPgbench, definitionPgbench)
	return m.Measurement, nil
}
