package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

// kubeOptions are the flags of kube.
type kubeOptions struct {
	clientNode, serverNode, context, namespace, image, agentImage string
	// hostNetwork asks for an arm between the nodes' own networks. Each of through is an arm between pods.
	hostNetwork bool
	through     []string
	// sameNode, otherNode and otherZone say where the pods are. With several of them, each arm is there once for each.
	sameNode, otherNode, otherZone bool
	// resources, tolerations, selectors and pullSecrets are what both pods ask for, as the flags say it.
	resources, tolerations, selectors, pullSecrets []string
	tools                                          []string
	duration                                       time.Duration
	// blocks is 0 for the default.
	blocks int
	// print prints the experiment file and measures nothing. from is a configuration of k8s-netperf.
	print bool
	from  string
	job   kubeJobOptions
	run   runOptions
}

func (a *app) kubeCommand() *cobra.Command {
	o := kubeOptions{run: runOptions{watch: &watcher{}}}
	cmd := &cobra.Command{
		Use:   "kube [FILE]",
		Short: "Measure between pods of a Kubernetes cluster, without an experiment file",
		Long: `Kube writes an experiment between two pods of a cluster, shows it, and runs it as "nearfar run" does.
With --print it only prints the experiment file: change the file, and give it to "nearfar run".

Each --through is an arm: pod, ClusterIP, NodePort, headless or LoadBalancer. --host-network is an arm between the
networks of the nodes. --same-node, --other-node and --other-zone can be combined: then each arm is measured in each of
these places. Without any of these flags there is one arm: two pods on different nodes.

--from reads the tests of a configuration of k8s-netperf, and says what it does not take over.

--manifests runs nothing. It prints the objects with which the experiment runs inside the cluster, as a Job, or as a
CronJob with --schedule: its account, with the rights that this experiment needs and no other, a ConfigMap with the
experiment, and the Job. The experiment is FILE, or the one that the flags make. FILE needs --manifests.

The exit codes are those of run.`,
		Example: `  nearfar kube --print
  nearfar kube --host-network --through pod --through ClusterIP
  nearfar kube --client-node node-1 --server-node node-2 --tool native --tool iperf3 --image registry.example/tools:v1
  nearfar kube --node-selector pool=fast --toleration dedicated=perf:NoSchedule --resources cpu=1,memory=256Mi
  nearfar kube --same-node --other-node --other-zone --duration 5s --blocks 12
  nearfar kube --from netperf.yml --print > experiment.yaml
  nearfar kube --manifests --nearfar-image registry.example/nearfar:0.1.0 --same-node --other-node | kubectl apply -f -
  nearfar kube --manifests --schedule "0 3 * * *" --results-claim runs experiment.yaml > nightly.yaml`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.job.check(cmd.Flags().Changed, args); err != nil {
				return err
			}
			if flag := given(cmd.Flags().Changed, "tool", "duration"); flag != "" && o.from != "" {
				return usagef("--%s: the file of --from says what is measured", flag)
			}
			if cmd.Flags().Changed("blocks") && (o.blocks < 1 || o.blocks > experiment.MaxBlocks) {
				return usagef("--blocks %d: must be from 1 to %d", o.blocks, experiment.MaxBlocks)
			}
			if o.job.manifests {
				return a.kubeManifests(args, o)
			}
			return a.kube(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.clientNode, "client-node", "", "the `NODE` of the pod that asks (default: any)")
	f.StringVar(&o.serverNode, "server-node", "", "the `NODE` of the pod that replies (default: any)")
	f.StringVar(&o.context, "context", "", "the context of the kubeconfig (default: its current one)")
	kubeconfigFlag(f, &o.run.kubeconfig)
	f.StringVar(&o.namespace, "namespace", "", "an existing namespace (default: one that nearfar makes and deletes)")
	f.StringVar(&o.image, "image", "", "the image of the pods, with the measuring programs (default: "+
		experiment.DefaultPodImage+")")
	f.StringVar(&o.agentImage, "agent-image", "", "the `IMAGE` that nearfar itself wrote, for images without a shell")
	f.StringSliceVar(&o.resources, "resources", nil, "what each pod requests, as `NAME=QUANTITY`: cpu=1,memory=256Mi "+
		"(default: cpu="+experiment.DefaultPodCPU+",memory="+experiment.DefaultPodMemory+")")
	f.StringArrayVar(&o.selectors, "node-selector", nil, "a `LABEL=VALUE` that the nodes must have (repeatable)")
	f.StringArrayVar(&o.tolerations, "toleration", nil, "a taint that the pods tolerate, as `KEY[=VALUE][:EFFECT]` "+
		"(repeatable)")
	f.StringArrayVar(&o.pullSecrets, "image-pull-secret", nil, "the `NAME` of a secret of --namespace, with which images "+
		"are pulled (repeatable)")
	f.BoolVar(&o.hostNetwork, "host-network", false, "measure between the networks of the nodes")
	f.StringArrayVar(&o.through, "through", nil, "what the client dials: "+strings.Join(kubeThroughs(), ", ")+
		" (repeatable; each is an arm)")
	f.BoolVar(&o.sameNode, "same-node", false, "both pods on one node")
	f.BoolVar(&o.otherNode, "other-node", false, "the pods on different nodes, which is the default")
	f.BoolVar(&o.otherZone, "other-zone", false, "the pods on nodes in different zones")
	f.StringArrayVar(&o.tools, "tool", nil, "the measuring program (default: native; repeatable)")
	f.DurationVar(&o.duration, "duration", 2*time.Second, "how long each trial measures")
	f.IntVar(&o.blocks, "blocks", 0, "how many times each workload is run in each arm (default: enough for the arms)")
	f.BoolVar(&o.print, "print", false, "print the experiment file, and measure nothing")
	f.StringVar(&o.from, "from", "", "a configuration `FILE` of k8s-netperf, whose tests become workloads")
	o.job.flags(f)
	f.StringVar(&o.run.out, "out", runsFolder, "directory in which the run directory is made")
	f.Uint64Var(&o.run.seed, "seed", 0, "seed of the order of trials; 0 draws one")
	f.BoolVar(&o.run.dryRun, "dry-run", false,
		"print the schedule, each command line and the duration; measure nothing")
	f.BoolVar(&o.run.force, "force", false, "measure also if the blocks are too few to show any difference")
	f.StringVar(&o.run.progress, "progress", progressAuto, "how to show progress: "+strings.Join(progressModes(), ", "))
	o.run.report.flags(f, chartsPage)
	o.run.report.resolveFlag(f)
	return cmd
}

// kubeFile names in messages the experiment that the flags make.
const kubeFile = "(from the flags)"

// kube writes the experiment that the flags stand for, and runs or prints it.
func (a *app) kube(ctx context.Context, o kubeOptions) error {
	plan, err := a.kubePlan(o)
	if err != nil {
		return err
	}
	a.notePlan(plan)
	text := plan.write()
	if o.print {
		_, err := a.data().Write(text)
		return err
	}
	fmt.Fprintf(a.stderr, "This experiment is measured (--print prints it alone):\n\n%s\n", text)
	o.run.text, o.run.seedGiven = text, o.run.seed != 0
	return a.run(ctx, kubeFile, o.run)
}

// notePlan says what of a file was not taken over.
func (a *app) notePlan(plan kubePlan) {
	for _, note := range plan.notes {
		fmt.Fprintf(a.stderr, "nearfar: %s\n", clean.Line(note))
	}
}

// kubeThroughs are the values of --through.
func kubeThroughs() []string {
	return []string{experiment.ThroughPod, experiment.ThroughClusterIP, experiment.ThroughNodePort,
		experiment.ThroughHeadless, experiment.ThroughLoadBalancer}
}

// kubePlan checks the flags, and makes arms and workloads of them.
func (a *app) kubePlan(o kubeOptions) (kubePlan, error) {
	plan := kubePlan{options: o, name: "kube", blocks: o.blocks}
	for _, through := range o.through {
		if !slices.Contains(kubeThroughs(), through) {
			return plan, usagef("--through %s: %s", clean.Line(through), experiment.Suggest(through, kubeThroughs()))
		}
	}
	if o.clientNode != "" && o.clientNode == o.serverNode && !o.sameNode {
		return plan, usagef("--client-node and --server-node are one node: add --same-node, or name two nodes")
	}
	if err := plan.ask(); err != nil {
		return plan, err
	}
	if o.from != "" {
		data, err := a.readFile(o.from)
		if err != nil {
			return plan, &usageError{fmt.Errorf("--from: %w", err)}
		}
		from, err := readNetperf(clean.Line(o.from), data)
		if err != nil {
			return plan, &usageError{err}
		}
		if err := plan.take(from); err != nil {
			return plan, err
		}
	} else if err := plan.workloadsOf(o.tools, o.duration); err != nil {
		return plan, err
	}
	plan.makeArms()
	return plan, plan.chooseBlocks()
}

// workloadsOf makes the workloads of the tools: round trips and a stream for native, and the first mode of each other
// tool.
func (p *kubePlan) workloadsOf(tools []string, duration time.Duration) error {
	known := tool.Declared()
	if len(tools) == 0 {
		tools = []string{"native"}
	}
	lasts := experiment.FormatDuration(duration)
	for i, name := range tools {
		if !slices.Contains(known.Names(), name) {
			return usagef("--tool %s: %s", clean.Line(name), experiment.Suggest(name, known.Names()))
		}
		switch {
		case slices.Contains(tools[:i], name):
			return usagef("--tool %s is given twice", name)
		case name == "native":
			p.workloads = append(p.workloads,
				kubeWorkload{"rr", "tool: native, mode: rr, duration: " + lasts},
				kubeWorkload{"bulk", "tool: native, mode: stream, duration: " + lasts})
		default:
			p.workloads = append(p.workloads, kubeWorkload{name, "tool: " + name + ", duration: " + lasts})
		}
	}
	return nil
}

// parsed reads the experiment file of the plan.
func (p *kubePlan) parsed() (*experiment.Experiment, error) {
	e, err := experimentfile.Parse(kubeFile, p.write(), tool.Declared())
	if err != nil {
		return nil, &usageError{errors.Join(errors.New("the flags make no experiment that can be run"), err)}
	}
	return e, nil
}
