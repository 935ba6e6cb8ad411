package cli

import (
	"errors"
	"io"
	"os"

	"nearfar/internal/base/hdr"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/show/report"
)

// readAnswer makes the answer of a run directory.
func readAnswer(path string) (answer.Answer, error) {
	dir, trials, err := readTrials(path)
	if err != nil {
		return answer.Answer{}, err
	}
	return answerOf(dir, path, trials, nil)
}

// readReport makes the answer of a run directory with the pooled quantiles, for which it reads all histograms. If aim
// is not nil, the answer also says how many blocks find that difference.
func readReport(path string, aim *figures.Aim) (answer.Answer, error) {
	dir, trials, err := readTrials(path)
	if err != nil {
		return answer.Answer{}, err
	}
	ans, err := answerOf(dir, path, trials, aim)
	if err != nil {
		return answer.Answer{}, err
	}
	open := func(name string) (io.ReadCloser, error) { return dir.OpenFile(name, hdr.MaxFile) }
	compared := proof.Compared(dir.Manifest().Experiment, trials)
	contrast.Pool(&ans, compared, open)
	recordings := func(name string) (io.ReadCloser, error) { return dir.OpenFile(name, inside.MaxSize) }
	ans.LookInside(dir.Manifest().Experiment, compared, recordings)
	ans.LookAtCaptures(dir.Manifest().Experiment, compared)
	return ans, nil
}

// readTrials opens a run directory and reads its trials, as far as answers need them.
func readTrials(path string) (*rundir.Dir, []result.Trial, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, nil, err
	}
	trials, err := dir.Brief()
	return dir, trials, err
}

// hostWarnings warns of what a run's manifest says about its hosts.
func hostWarnings(m rundir.Manifest, trials []result.Trial) []answer.Warning {
	return append(deploy.Warnings(m.Hosts, trials), environment.VersionWarnings(m.HostVersions)...)
}

func answerOf(dir *rundir.Dir, path string, trials []result.Trial, aim *figures.Aim) (answer.Answer, error) {
	m := dir.Manifest()
	ans := answer.Make(answer.Input{
		Experiment: m.Experiment, Trials: trials, Run: path, State: m.State, Seed: m.Seed, Skipped: m.Skipped,
		Hosts: m.Hosts, Warnings: hostWarnings(m, trials), Resolve: aim, Earlier: earlierOf(m),
	})
	// The objectives are judged from the run directory, so that every later report has the same verdicts.
	side := &contrast.Side{
		Source: path, Kind: contrast.Run, ID: path, Experiment: m.Experiment, State: m.State, Trials: trials,
	}
	objectives, err := gate.Judge(side)
	ans.SetObjectives(objectives)
	ans.FindSaturation(m.Experiment, proof.Compared(m.Experiment, trials))
	return ans, err
}

// writeReport writes the answer to the file in the options, or to standard output.
func (a *app) writeReport(ans answer.Answer, o reportOptions) error {
	if o.format == formatHTML {
		return a.writePage(ans, o)
	}
	return a.writeTo(o.file, func(w io.Writer) error { return report.Write(w, ans, reportScreen(o.format, w)) })
}

// writeTo writes to the named file, or to standard output if the name is "".
func (a *app) writeTo(name string, write func(io.Writer) error) (err error) {
	if name == "" {
		return write(a.data())
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
