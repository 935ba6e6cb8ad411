package cli

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/hosts/image"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/onhost/engine/process"
)

// kubeJobOptions are the flags of kube that belong to --manifests.
type kubeJobOptions struct {
	manifests                    bool
	image, schedule, claim, push string
}

// jobNamespace is the namespace of a Job if nothing says another one.
const jobNamespace = "nearfar"

func (o *kubeJobOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.manifests, "manifests", false,
		"print the objects with which the experiment runs inside the cluster; measure nothing")
	f.StringVar(&o.image, "nearfar-image", "", "with --manifests: the `IMAGE` of nearfar (default: "+
		"localhost/nearfar with nearfar's version; 'nearfar image --nearfar' writes it)")
	f.StringVar(&o.schedule, "schedule", "", "with --manifests: when a CronJob runs the experiment, as in `CRON` "+
		"(default: a Job runs it once)")
	f.StringVar(&o.claim, "results-claim", "", "with --manifests: the PersistentVolumeClaim that keeps the run "+
		"directories (default: they go with the pod)")
	f.StringVar(&o.push, "metrics-push", "", "with --manifests: the `ADDRESS` of a Pushgateway and its group, to which "+
		"the figures go (default: none)")
}

// check checks which flags and arguments go together.
func (o *kubeJobOptions) check(changed func(flag string) bool, args []string) error {
	if !o.manifests {
		if flag := given(changed, "nearfar-image", "schedule", "results-claim", "metrics-push"); flag != "" {
			return usagef("--%s is for --manifests", flag)
		}
		if len(args) > 0 {
			return usagef("only --manifests takes a FILE: to measure what a file declares, nearfar run %s",
				clean.Line(args[0]))
		}
		return nil
	}
	if flag := given(changed, "print", "context", "kubeconfig", "out", "seed", "dry-run", "progress", "format", "output",
		"resolve"); flag != "" {
		return usagef("--manifests prints objects, and runs nothing here: give it no --%s", flag)
	}
	if len(args) > 0 {
		if flag := given(changed, "client-node", "server-node", "image", "agent-image", "resources", "node-selector",
			"toleration", "host-network", "through", "same-node", "other-node", "other-zone", "tool", "duration", "blocks",
			"from"); flag != "" {
			return usagef("--%s: FILE says what is measured", flag)
		}
	}
	if o.schedule != "" && !cronForm.MatchString(o.schedule) {
		return usagef("--schedule %s: write five fields of cron, such as \"0 3 * * *\", or @daily", clean.Quote(o.schedule))
	}
	return nil
}

// cronForm is what a CronJob's schedule looks like. The API server checks the rest.
var cronForm = lazyregexp.New(`^(@[a-z]+|[0-9A-Za-z*/,?-]+( +[0-9A-Za-z*/,?-]+){4})$`)

// kubeManifests prints the objects with which the experiment of the flags, or of a file, is run inside the cluster.
func (a *app) kubeManifests(args []string, o kubeOptions) error {
	j := deploy.Job{
		Image:     cmp.Or(o.job.image, image.DefaultName(image.Nearfar, process.Version())),
		Namespace: o.namespace, PullSecrets: o.pullSecrets, Schedule: o.job.schedule, Claim: o.job.claim, Push: o.job.push,
	}
	if o.run.force {
		j.Args = []string{"--force"}
	}
	e, err := a.jobExperiment(args, o, &j)
	if err != nil {
		return err
	}
	if err := refuseTooFewBlocks(e, o.run); err != nil {
		return err
	}
	if err := refuseElsewhere(e); err != nil {
		return err
	}
	j.Name = jobName(e.Name)
	j.Namespace = cmp.Or(j.Namespace, onlyNamespace(e), jobNamespace)
	var out bytes.Buffer
	if err := deploy.PrintJob(&out, e, j); err != nil {
		return err
	}
	_, err = io.Copy(a.data(), &out)
	return err
}

// jobExperiment reads the experiment of a Job, and gives the Job its text. That of the flags is in the Job's namespace,
// and its pods take the agent from the image of nearfar: one reference is all that they pull.
func (a *app) jobExperiment(args []string, o kubeOptions, j *deploy.Job) (*experiment.Experiment, error) {
	if len(args) > 0 {
		text, err := a.readData(args[0])
		if err != nil {
			return nil, err
		}
		j.Experiment = text
		// No variables: those of this shell are not in the cluster.
		return parseExperiment(args[0], text, experimentfile.Inputs{})
	}
	o.namespace = cmp.Or(o.namespace, jobNamespace)
	o.agentImage = cmp.Or(o.agentImage, j.Image)
	plan, err := a.kubePlan(o)
	if err != nil {
		return nil, err
	}
	a.notePlan(plan)
	j.Experiment = plan.write()
	return plan.parsed()
}

// refuseElsewhere refuses an experiment that a nearfar in a pod cannot run: its image has no ssh, and no kubeconfig.
func refuseElsewhere(e *experiment.Experiment) error {
	for _, arm := range e.Arms {
		switch {
		case arm.Kubernetes == nil || arm.Kubernetes.Client == nil || arm.Kubernetes.Server == nil:
			return usagef("arm %s is not between two pods: a nearfar inside the cluster reaches nothing else", arm.Name)
		case arm.Kubernetes.Context != "":
			return usagef("arm %s names the context %s: inside the cluster there is no kubeconfig, so leave context out",
				arm.Name, clean.Line(arm.Kubernetes.Context))
		}
	}
	return nil
}

// onlyNamespace is the namespace of all arms; empty if they have none, or several.
func onlyNamespace(e *experiment.Experiment) string {
	first := e.Arms[0].Kubernetes.Namespace
	if slices.ContainsFunc(e.Arms, func(arm experiment.Arm) bool { return arm.Kubernetes.Namespace != first }) {
		return ""
	}
	return first
}

// maxJobName leaves room in 52 characters, which a CronJob's name may have.
const maxJobName = 40

// jobName is the name of an experiment's Job: a label of DNS.
func jobName(name string) string {
	plain := strings.Trim(unlike.ReplaceAllString(strings.ToLower(name), "-"), "-")
	return strings.TrimRight("nearfar-"+plain[:min(len(plain), maxJobName)], "-")
}

// unlike is what a label of DNS cannot have.
var unlike = lazyregexp.New(`[^a-z0-9]+`)
