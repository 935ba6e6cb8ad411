package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

const newestName = "iperf3-newest"

// newestIperf3 is an iperf3 that is not installed: scripts/newest-tools.sh puts it, with the libraries that it needs,
// into a folder.
type newestIperf3 struct {
	*tool.Iperf3
	// argv starts it: the loader of programs, where its libraries are, and the program.
	argv []string
}

// findNewest finds the iperf3 in a folder.
func findNewest(folder string) (newestIperf3, error) {
	t := newestIperf3{Iperf3: tool.NewIperf3()}
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return t, err
	}
	loaders, err := filepath.Glob(filepath.Join(absolute, "usr", "lib", "*", "ld-linux-*.so.*"))
	program, errProgram := filepath.Glob(filepath.Join(absolute, "usr", "bin", "iperf3"))
	if err = errors.Join(err, errProgram); err != nil {
		return t, fmt.Errorf("--newest %s: %w", folder, err)
	}
	if len(loaders) != 1 || len(program) != 1 {
		return t, fmt.Errorf("--newest %s: no iperf3 with its libraries is there: scripts/newest-tools.sh makes one", folder)
	}
	t.argv = []string{loaders[0], "--library-path", filepath.Dir(loaders[0]), program[0]}
	return t, nil
}

// Name is what the workloads call it.
func (newestIperf3) Name() string { return newestName }

// Probe asks for its version.
func (t newestIperf3) Probe() tool.Probe {
	p := t.Iperf3.Probe()
	p.Programs, p.Argv = t.argv[:1], append(slices.Clone(t.argv), "--version")
	return p
}

// Plan gives the command lines of the installed one. Over UDP it sends at the highest rate, with segmentation offload.
// It runs with all rights, since a confined program may only run what is installed.
func (t newestIperf3) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	p, err := t.Iperf3.Plan(w, pair)
	if err != nil {
		return p, err
	}
	p.Server.Rights, p.Client.Rights = nil, nil
	p.Server.Argv = append(slices.Clone(t.argv), p.Server.Argv[1:]...)
	p.Client.Argv = append(slices.Clone(t.argv), p.Client.Argv[1:]...)
	if w.Protocol == experiment.UDP {
		p.Client.Argv = append(p.Client.Argv, "-b", "0", "--gsro")
	}
	return p, nil
}

// Parse reads what the client printed.
func (t newestIperf3) Parse(out tool.Output) (result.Measurement, error) {
	m, err := t.Iperf3.Parse(out)
	m.Tool.Name = newestName
	return m, err
}
