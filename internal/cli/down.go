package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/measure/deploy"
)

// kubeconfigFlag adds --kubeconfig.
func kubeconfigFlag(f *pflag.FlagSet, file *string) {
	f.StringVar(file, "kubeconfig", "", "`FILE` that says how clusters are reached "+
		"(default: $KUBECONFIG, or ~/.kube/config)")
}

// downOptions are the flags of down.
type downOptions struct {
	all, check, expired bool
	kubeconfig, context string
	namespaces          []string
	owner               string
	inputs              inputFlags
	audit               auditFlags
}

func (a *app) downCommand() *cobra.Command {
	o := downOptions{}
	cmd := &cobra.Command{
		Use:   "down FILE | --expired | --all | --check | --audit --run NAME",
		Short: "Delete the machines of an experiment, or objects that runs have left in a Kubernetes cluster",
		Long: `Down FILE deletes the machines that "nearfar up FILE" has made: it runs tofu destroy (or terraform
destroy), down.sh, or cdk destroy, and looks at the state again. Scripts have no state: down believes the exit code of
down.sh. Then it asks the providers what they still have with the tag nearfar_run=NAME, by your own az, aws or gcloud,
and lists it. It works after an up that failed or was killed, and can be repeated. If a provider cannot be asked, down
names it; the exit code does not change. With --check it deletes nothing and lists the resources in the state.

Down --audit deletes nothing and only asks the providers: about FILE, even if its record and state no longer exist, or
about the experiment that --run names. It counts the resources that you own (see --owner).

Down --expired deletes the machines of all experiment files of this user that are past their time ("nearfar ls" marks
them). It asks nothing, so that cron can call it. With --check it only lists them.

Otherwise, without FILE, down is about Kubernetes. A run deletes all objects that it made in a cluster, also after
Ctrl-C. If nearfar was killed, down --all finds the remaining objects by their label, deletes them, waits until they no
longer exist, and looks again. It deletes the objects that you own (see --owner), also those of runs in progress; it
only lists objects of other owners.

down --check deletes nothing. Both print where they looked.

Exit codes: 0 nothing of the file, or of yours, is left; 1 something is left, or some places could not be looked at
(only with --audit and for Kubernetes); 2 wrong usage, or a mistake in the file; 130 interrupted.`,
		Example: `  nearfar down experiment.yaml
  nearfar down --check experiment.yaml
  nearfar down --expired
  nearfar down --audit experiment.yaml
  nearfar down --audit --run zones --provider azure --provider aws:eu-west-1
  nearfar down --check
  nearfar down --all
  nearfar down --all --context my-cluster --namespace perf`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if cmd.Flags().Changed("expired") {
					return usagef("--expired is about all files: give no FILE")
				}
				flag := given(cmd.Flags().Changed, "all", "kubeconfig", "context", "namespace", "owner")
				if flag != "" && (flag != "owner" || !o.audit.only) {
					return usagef("--%s is about Kubernetes: give no FILE", flag)
				}
				if o.audit.run != "" {
					return usagef("--run goes with --audit in place of FILE")
				}
				if o.audit.only && o.check {
					return usagef("--check looks at the state, --audit asks the providers: give one of them")
				}
				return a.downFile(cmd.Context(), args[0], &o)
			}
			if o.expired {
				if flag := given(cmd.Flags().Changed, "provider", "audit-wait", "audit", "run", "all", "kubeconfig",
					"context", "namespace", "owner", "hosts"); flag != "" {
					return usagef("--expired is about the machines of files: give no --%s", flag)
				}
				return a.downExpired(cmd.Context(), &o)
			}
			if o.audit.run != "" && o.audit.only && !o.all && !o.check {
				return a.auditRun(cmd.Context(), o.audit, o.owner)
			}
			if o.audit.only || o.audit.run != "" {
				return usagef("--audit asks about an experiment: name its FILE, or give --run NAME")
			}
			if flag := given(cmd.Flags().Changed, "set", "hosts", "provider", "audit-wait"); flag != "" {
				return usagef("--%s is about an experiment file: name the FILE", flag)
			}
			if o.all == o.check {
				return usagef("name the FILE whose machines are deleted; or, for what runs have left in a Kubernetes " +
					"cluster, give --all to delete it or --check to show it")
			}
			return a.down(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "delete the objects that runs of this owner have left")
	f.BoolVar(&o.check, "check", false, "only list; delete nothing")
	f.BoolVar(&o.expired, "expired", false, "delete the machines of all files that are past their time")
	o.inputs.flags(f)
	o.audit.flags(f)
	kubeconfigFlag(f, &o.kubeconfig)
	f.StringVar(&o.context, "context", "", "the `context` of the kubeconfig (default: its current one)")
	f.StringArrayVar(&o.namespaces, "namespace", nil,
		"look only in this `namespace`; may be given several times (default: the whole cluster)")
	f.StringVar(&o.owner, "owner", "", "whose objects or resources, as `user@host` (default: yours)")
	return cmd
}

// downFile deletes or shows the machines of an experiment file.
func (a *app) downFile(ctx context.Context, file string, o *downOptions) error {
	e, err := a.readExperiment(file, &o.inputs)
	if err != nil {
		return err
	}
	if err := o.inputs.unused(file); err != nil {
		return err
	}
	how, err := o.audit.auditing()
	if err != nil {
		return err
	}
	p, err := a.openProject(file, e, provision.Options{Audit: how})
	if err != nil {
		return err
	}
	if o.audit.only {
		answers, err := p.Audit(ctx, o.owner)
		if err != nil {
			return err
		}
		return a.printAudit(ctx, p.Name(), answers)
	}
	if !o.check {
		return a.destroy(ctx, a.stdout, file, p)
	}
	left, err := p.Left(ctx)
	printLeftResources(a.stdout, left.Resources)
	switch {
	case err != nil:
	case left.Vague:
		err = errors.New("machines may still exist; down without --check deletes them")
	case len(left.Resources) > 0:
		err = fmt.Errorf("%d resources still exist", len(left.Resources))
	}
	if err == nil {
		fmt.Fprintf(a.stdout, "%s: nothing is in the state.\n", clean.Line(file))
	}
	return err
}

// down deletes or shows what runs have left in a cluster.
func (a *app) down(ctx context.Context, o downOptions) error {
	d, err := deploy.OpenLeftovers(o.kubeconfig, o.context, o.namespaces)
	if err != nil {
		return &usageError{err}
	}
	owner := cmp.Or(o.owner, deploy.PodOwner())
	left, err := d.Find(ctx)
	if err != nil {
		a.printLeft(left, owner, false)
		return err
	}
	if o.all {
		mine := slices.DeleteFunc(slices.Clone(left.Found), func(f deploy.Leftover) bool { return f.Owner != owner })
		for _, f := range mine {
			fmt.Fprintf(a.stdout, "deleting %s\n", clean.Line(f.String()))
		}
		err := d.Remove(ctx, mine, func(text string) { fmt.Fprintln(a.stderr, text) })
		if err != nil {
			return err
		}
		if left, err = d.Find(ctx); err != nil {
			a.printLeft(left, owner, false)
			return err
		}
	}
	if a.printLeft(left, owner, true) > 0 {
		return errors.New("something is left in the cluster")
	}
	return nil
}

// printLeft prints where it was looked and what was found. everywhere says that it was looked at all places. It returns
// how many of the objects belong to the owner.
func (a *app) printLeft(left deploy.Left, owner string, everywhere bool) (mine int) {
	fmt.Fprintf(a.stdout, "Looked at in context %s:\n", clean.Line(left.Context))
	for _, line := range left.Looked {
		fmt.Fprintf(a.stdout, "  %s\n", clean.Line(line))
	}
	for _, f := range left.Found {
		if f.Owner == owner {
			mine++
		}
		expires := "no expiry"
		if !f.Expires.IsZero() {
			expires = "expires " + f.Expires.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(a.stdout, "left: %s of run %s, %s, %s\n", clean.Line(f.String()), clean.Line(f.Run),
			clean.Line(cmp.Or(f.Owner, "no owner")), expires)
	}
	switch {
	case mine > 0:
	case everywhere:
		fmt.Fprintf(a.stdout, "Nothing of %s is left.\n", clean.Line(owner))
	default:
		fmt.Fprintf(a.stdout, "Nothing of %s was found, but not all places could be looked at: something may be left.\n",
			clean.Line(owner))
	}
	return mine
}
