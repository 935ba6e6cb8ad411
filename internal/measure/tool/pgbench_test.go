package tool

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent/allow"
	"nearfar/internal/onhost/host"
)

const pgbenchRun = "pgbench (15.18 (Debian 15.18-0+deb12u1))\n" + `transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 2 s
number of transactions actually processed: 12345
number of failed transactions: 0 (0.000%)
latency average = 0.324 ms
initial connection time = 6.123 ms
tps = 6172.500000 (without initial connection time)
`

func pgbenchSamples() []sample {
	return []sample{
		{
			name: "pgbench", tool: "pgbench", reportedAs: definitionPgbench, text: pgbenchRun,
			want: map[string]float64{"response_time.mean": 324e-6, "transaction_rate": 6172.5, "received": 12345},
			not:  []string{"rtt.mean", "connect_time.mean", "response_time.p50"},
		},
		{
			name: "pgbench with a connection for each, before 14", tool: "pgbench", reportedAs: definitionPgbench,
			text: "$ pgbench -C -T 10 bench\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nnumber of clients: 1\n" +
				"duration: 10 s\nnumber of transactions actually processed: 1000\nlatency average = 10.000 ms\n" +
				"latency stddev = 1.500 ms\naverage connection time = 2.500 ms\ntps = 100.0 (including connections establishing)\n" +
				"tps = 130.0 (excluding connections establishing)\n",
			want: map[string]float64{"response_time.mean": 0.01, "response_time.stddev": 0.0015, "connect_time.mean": 0.0025,
				"transaction_rate": 100},
		},
		{
			name: "pgbench without a transaction", tool: "pgbench", reportedAs: "none", fails: "the output is cut off",
			text: "pgbench (15.18)\ntransaction type: <builtin: select only>\nnumber of transactions actually processed: 0\n" +
				"latency average = 0.000 ms\ntps = 0.000000 (without initial connection time)\n",
			not: []string{"response_time.mean", "transaction_rate"},
		},
	}
}

// pgbenchWith has an environment of the test's.
func pgbenchWith(variables map[string]string) *Pgbench {
	p := NewPgbench()
	p.variable = func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	}
	return p
}

func pgbenchWorkload() experiment.Workload {
	return experiment.Workload{Name: "db", Tool: pgbenchName, Mode: experiment.Pgbench, Protocol: experiment.TCP, IP: 4,
		Duration: 2 * time.Second, Script: experiment.SelectOnly,
		Web: experiment.Web{Connect: experiment.KeepAlive, Concurrency: 1}}
}

// TestPgbenchPlan: who the user is for the database is on standard input, and in no word of a command line.
func TestPgbenchPlan(t *testing.T) {
	const canary = "canary-40b1"
	w := pgbenchWorkload()
	w.Concurrency, w.Connect = 4, experiment.PerRequest
	plan, err := pgbenchWith(map[string]string{"PGPASSWORD": canary, "PGUSER": "bench", "PGPORT": "5433",
		"PGSERVICEFILE": "/x"}).Plan(w, httpPair())
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(plan.Client.Argv[4:], " ")
	if want := "pgbench -h 10.0.0.2 -p 5433 --no-vacuum -b select-only -c 4 -j 1 -T 2 -C"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if want := "PGUSER=bench\nPGPASSWORD=" + canary + "\n"; string(plan.Client.Stdin) != want || plan.Server != nil ||
		len(plan.Sockets) > 0 {
		t.Errorf("standard input %q, want %q; server %v", plan.Client.Stdin, want, plan.Server)
	}
	if said := strings.Join(append(plan.Client.Argv, plan.Client.Env...), " "); strings.Contains(said, canary) {
		t.Errorf("the password is in %s", said)
	}
	pair := httpPair()
	pair.Client.Tools = map[string]string{"pgbench": "/opt/pg/pgbench"}
	plan, err = pgbenchWith(nil).Plan(pgbenchWorkload(), pair)
	if err != nil || plan.Client.Argv[4] != "/opt/pg/pgbench" ||
		len(plan.Client.Stdin) > 0 {
		t.Errorf("%q, %q, %v", plan.Client.Argv, plan.Client.Stdin, err)
	}
}

// TestPgbenchParses: what failed is said with pgbench's own words.
func TestPgbenchParses(t *testing.T) {
	w := pgbenchWorkload()
	m, err := NewPgbench().Parse(Output{Workload: &w, Stdout: []byte(pgbenchRun)})
	if err != nil || m.Protocol != experiment.TCP || m.Tool.Version != "15.18" || m.Duration != 2*time.Second ||
		m.Facts["connections"] != "2" || m.Facts["errors"] != "0" || len(m.Notes) > 0 {
		t.Errorf("%v, %+v", err, m)
	}
	for want, out := range map[string]Output{
		"password authentication failed": {ExitCode: 1, Stderr: []byte("pgbench: error: connection to server at \"10.0.0.2\", " +
			"port 5432 failed: FATAL:  password authentication failed for user \"bench\"\n" +
			"pgbench: error: could not create connection for setup\n")},
		"exit status 2": {ExitCode: 2, Stdout: []byte(pgbenchRun)},
	} {
		out.Workload = &w
		if _, err := NewPgbench().Parse(out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAgentsRunNoPgbench: an agent on a host that nothing can log in to refuses it before anything is measured, when it
// is asked for the version.
func TestAgentsRunNoPgbench(t *testing.T) {
	if err := allow.New("linux").Check(host.Cmd{Argv: NewPgbench().Probe().Argv}); err == nil {
		t.Error("an agent runs pgbench")
	}
}
