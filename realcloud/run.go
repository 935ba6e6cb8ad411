package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
)

// A test is a lab on a cloud.
type test struct {
	options
	cloud cloud
	lab   lab
	out   io.Writer
	// folder is the copy of the lab, file the experiment file in it, results the folder for run directories.
	folder, file, results string
	experiment            *experiment.Experiment
	// most is the greatest sum, in US dollars.
	most float64
}

// run runs the test that the options name.
func run(ctx context.Context, o options, out io.Writer) error {
	c, l, err := find(o.provider, o.lab)
	if err != nil {
		return err
	}
	if o.time == 0 {
		o.time = l.time
	}
	if o.time = o.time.Round(time.Second); o.time <= l.reserve {
		return refusedf("the time %v is too short: %v of it are for deleting the machines", o.time, l.reserve)
	}
	folder := filepath.Join(o.folder, l.name)
	t := &test{
		options: o, cloud: c, lab: l, out: out, folder: folder, file: filepath.Join(folder, l.file),
		results: filepath.Join(o.folder, "results"),
	}
	if err := missing(ctx, c, l); err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	if err := t.preflight(ctx); err != nil {
		return err
	}
	if err := t.agree(ctx); err != nil {
		return err
	}
	return t.wholeWay(ctx)
}

func (t *test) say(format string, args ...any) {
	fmt.Fprintf(t.out, "cloud-test: "+format+"\n", args...)
}

// prepare makes the copy of the lab with the brief experiment.
func (t *test) prepare() error {
	if _, err := os.Stat(t.program); err != nil {
		return refusedf("%s: make build builds it: %w", t.program, err)
	}
	// The folder has the state of machines that an earlier test could not delete.
	for _, name := range []string{"record.json", "terraform.tfstate"} {
		found, err := filepath.Glob(filepath.Join(t.folder, provision.Folder, "*", name))
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return refusedf("an earlier test has left machines, or was killed: delete them with: %s", t.remedy())
		}
	}
	if err := t.empty(); err != nil {
		return err
	}
	source := filepath.Join(t.labs, t.lab.name)
	text, err := os.ReadFile(filepath.Join(source, t.lab.file))
	if err != nil {
		return refusedf("the lab: %w", err)
	}
	brief, e, err := t.lab.brief(text, t.time)
	if err != nil {
		return refusedf("%s: %w", filepath.Join(source, t.lab.file), err)
	}
	t.experiment = e
	module := e.Provision.Tofu
	if module == "" || !filepath.IsLocal(module) {
		return refusedf("%s: its machines are not made by a module in the lab's folder", t.lab.file)
	}
	if err := os.MkdirAll(t.results, 0o700); err != nil {
		return err
	}
	// The rest of a lab can be large, such as packages of Node.
	if err := os.CopyFS(filepath.Join(t.folder, module), os.DirFS(filepath.Join(source, module))); err != nil {
		return err
	}
	if t.sshConfig == "" {
		if err := t.writeSSHConfig(); err != nil {
			return err
		}
	}
	return os.WriteFile(t.file, brief, 0o600)
}

// marker is a file that says that a folder is a copy that this program has made.
const marker = "made-by-cloud-test"

// empty makes the folder anew. It removes nothing but its own copies.
func (t *test) empty() error {
	if _, err := os.Stat(t.folder); err == nil {
		if _, err := os.Stat(filepath.Join(t.folder, marker)); err != nil {
			return refusedf("%s is no copy of a lab that this program has made: choose another folder", t.folder)
		}
	}
	if err := os.RemoveAll(t.folder); err != nil {
		return err
	}
	if err := os.MkdirAll(t.folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.folder, marker), nil, 0o600)
}

// writeSSHConfig makes a configuration for ssh that is the user's own, and accepts the keys of new hosts.
func (t *test) writeSSHConfig() error {
	known, err := filepath.Abs(filepath.Join(t.folder, "known_hosts"))
	if err != nil {
		return err
	}
	t.sshConfig = filepath.Join(t.folder, "ssh_config")
	text := fmt.Sprintf("Host *\n\tStrictHostKeyChecking accept-new\n\tUserKnownHostsFile %q\nInclude ~/.ssh/config\n",
		known)
	return os.WriteFile(t.sshConfig, []byte(text), 0o600)
}

// remedy is the command that deletes the machines.
func (t *test) remedy() string {
	return fmt.Sprintf("%s down %s (with the same variables of the environment)", t.program, t.file)
}

// preflight asks the provider what it would refuse. Nothing is made if it would refuse anything.
func (t *test) preflight(ctx context.Context) error {
	err := t.nearfar(ctx, t.out, "up", "--check", t.file)
	if err != nil && ctx.Err() == nil {
		err = &refusedError{err}
	}
	return err
}

// agree shows what would be made and its price, and compares the price with the limit.
func (t *test) agree(ctx context.Context) error {
	var printed bytes.Buffer
	if err := t.nearfar(ctx, io.MultiWriter(&printed, t.out), "up", "--dry-run", t.file); err != nil {
		if ctx.Err() == nil {
			err = &refusedError{err}
		}
		return err
	}
	most, err := readBill(printed.String()).most(t.price, t.limit, t.time)
	if err != nil {
		return err
	}
	t.most = most
	t.say("at most $%.2f of $%.2f, if the machines exist for %v", most, t.limit, t.time)
	return nil
}

// wholeWay makes the machines, measures, checks the answer, deletes the machines and asks the provider what is left.
// Whatever happens after the machines were begun, they are deleted.
func (t *test) wholeWay(ctx context.Context) (err error) {
	begun := time.Now()
	t.say("if this program is killed, delete the machines with: %s", t.remedy())
	defer func() {
		if downErr := t.down(); downErr != nil {
			err = errors.Join(withoutInterrupt(err), downErr)
		}
		took := time.Since(begun)
		if took > t.time {
			t.say("the machines existed for %v, longer than %v", took.Round(time.Second), t.time)
		}
		t.say("from the first machine to the end it took %v, which cost about $%.2f or less", took.Round(time.Second),
			t.most*took.Hours()/t.time.Hours())
		if err == nil {
			t.say("%s on %s: passed", t.lab.name, t.cloud.name)
		}
	}()
	measuring, stop := context.WithDeadlineCause(ctx, begun.Add(t.time-t.lab.reserve), errTime)
	defer stop()
	if err := t.nearfar(measuring, t.out, "up", "--yes", "--on-failure", "keep", t.file); err != nil {
		return err
	}
	further := []string{"--ssh-config", t.sshConfig}
	if t.lab.kubeconfig != nil {
		file, err := t.reach(measuring)
		if err != nil {
			return err
		}
		further = []string{"--kubeconfig", file}
	}
	text, err := t.measure(measuring, further)
	if measuring.Err() == nil && (err == nil || len(text) > 0) {
		err = errors.Join(err, judge(text, t.experiment, t.cloud.name))
	}
	if err == nil {
		t.say("complete, everything that is expected is proved, and all places and intervals are there")
	}
	return err
}

// withoutInterrupt keeps an interrupt from hiding that machines are left.
func withoutInterrupt(err error) error {
	if errors.Is(err, errInterrupted) {
		return nil
	}
	return err
}

// readyPause is the time between two attempts to measure on new machines.
const readyPause = 15 * time.Second

// measure runs the experiment, and gives the answer as JSON. New machines do not answer at once, and install programs:
// a run that ends before its first trial is begun again.
func (t *test) measure(ctx context.Context, further []string) ([]byte, error) {
	args := append([]string{"run", "-f", "json", "--progress", "plain", "--out", t.results}, further...)
	for end := time.Now().Add(t.ready); ; {
		before, err := t.runs()
		if err != nil {
			return nil, err
		}
		answer, err := os.Create(filepath.Join(t.folder, "answer.json"))
		if err != nil {
			return nil, err
		}
		err = t.nearfar(ctx, answer, append(args, t.file)...)
		err = errors.Join(err, answer.Close())
		after, readErr := t.runs()
		if err == nil || readErr != nil || after > before || ctx.Err() != nil || time.Now().After(end) {
			text, readErr := os.ReadFile(answer.Name())
			return text, errors.Join(err, readErr)
		}
		t.say("the machines are not ready yet; trying again")
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(readyPause):
		}
	}
}

// runs counts the run directories of the lab.
func (t *test) runs() (int, error) {
	all, err := filepath.Glob(filepath.Join(t.results, "*-"+t.lab.runName()))
	return len(all), err
}

// attempts is how often down is tried: providers refuse to delete what something else still uses.
const attempts = 3

// down deletes the machines, and asks the provider what is left. It cannot be interrupted.
func (t *test) down() error {
	var err error
	for range attempts {
		if err = t.nearfar(context.Background(), t.out, "down", t.file); err == nil {
			break
		}
		t.say("%v", err)
	}
	if err != nil {
		return fmt.Errorf("MACHINES CAN BE LEFT, AND COST MONEY. Delete them with: %s: %w", t.remedy(), err)
	}
	if err := t.nearfar(context.Background(), t.out, "down", "--audit", t.file); err != nil {
		return fmt.Errorf("look at the provider for the tag nearfar_run=%s: %w", t.lab.runName(), err)
	}
	return nil
}

// nearfar runs nearfar and waits for its end. When ctx ends, it is interrupted once, as by Ctrl-C, and ends in order;
// the error is then the cause.
func (t *test) nearfar(ctx context.Context, stdout io.Writer, args ...string) error {
	return t.command(ctx, stdout, append([]string{t.program}, args...))
}

// command runs a program as nearfar does.
func (t *test) command(ctx context.Context, stdout io.Writer, argv []string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.say("%s", strings.Join(argv, " "))
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = stdout, t.out
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", strings.Join(argv[:2], " "), err)
		}
		return nil
	case <-ctx.Done():
		t.say("%v: waiting until %s has ended in order", context.Cause(ctx), strings.Join(argv[:2], " "))
		if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.say("it cannot be interrupted: %v", err)
		}
		if err := <-ended; err != nil { // as it should after an interrupt
			t.say("%s: %v", strings.Join(argv[:2], " "), err)
		}
		return context.Cause(ctx)
	}
}

// outputs are the outputs of a module.
type outputs map[string]struct {
	Value any `json:"value"`
}

// text is an output, or a part of it. It is empty if there is no such text.
func (o outputs) text(name string, path ...string) string {
	value := o[name].Value
	for _, key := range path {
		inner, _ := value.(map[string]any)
		value = inner[key]
	}
	text, _ := value.(string)
	return text
}

// reach writes the file that says how the cluster is reached.
func (t *test) reach(ctx context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(t.folder, provision.Folder, t.lab.runName(), "terraform.tfstate"))
	if err != nil {
		return "", err
	}
	var state struct {
		Outputs outputs `json:"outputs"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return "", fmt.Errorf("the state: %w", err)
	}
	file := filepath.Join(t.folder, "kubeconfig")
	if err := t.command(ctx, t.out, t.lab.kubeconfig(state.Outputs, file)); err != nil {
		return "", err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s has written no kubeconfig", t.cloud.program)
	}
	return file, nil
}
