package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
)

// upOptions are the flags of up.
type upOptions struct {
	make   makeFlags
	dryRun bool
	check  bool
	format string
	inputs inputFlags
}

func (a *app) upCommand() *cobra.Command {
	o := upOptions{}
	cmd := &cobra.Command{
		Use:   "up [FILE]",
		Short: "Make the machines of an experiment with OpenTofu, Terraform, scripts or the AWS CDK",
		Long: `Up makes the machines that an experiment file declares with "provision": it runs your own tofu (or
terraform), your own script up.sh, or your own cdk, with your own credentials. It shows what would be made and asks,
unless --yes is given. --dry-run only shows it. What a script would make cannot be shown.

--check makes nothing and costs nothing: it asks Azure, AWS or Google Cloud, by your own az, aws and gcloud, what they
would refuse: sizes that the subscription may not use, quotas of vCPUs, addresses and networks, resource providers and
APIs that are not registered, permissions, images, policies (such as one that forbids public addresses), rules of
placement, and what is retired. Each check is "ok", "would be refused" with the provider's figures and what to do, or
"not looked at" with the reason. No provider says whether it has room. tofu makes a plan for it, as with --dry-run; the
provider azurerm registers the resource providers that a module lists when it plans.

The state is in .nearfar/NAME beside the file, with a record that is written before anything is made: so "nearfar down"
finds everything, also after nearfar was killed. If the provider lacks capacity, up explains its message and makes the
attempts that the file lists under "retry".

Ctrl-C asks the program to end in order and waits for it. --on-failure says what to do with the machines that were made
so far; by default up asks on a terminal, and keeps them elsewhere.

Machines keep the time until which they are meant to exist, also if up is called again. --extend renews it: from now on
they have the whole "ttl" again. If the module uses the time, it is changed there too.

Without FILE it takes experiment.yaml in the current directory.

Exit codes: 0 the machines are up, or with --check: nothing that was looked at would be refused; 1 it failed, or
something would be refused; 2 wrong usage, or a mistake in the file; 130 interrupted.`,
		Example: `  nearfar up --check experiment.yaml
  nearfar up --check -f json experiment.yaml | jq -r '.checks[] | select(.status == "would be refused")'
  nearfar up --dry-run experiment.yaml
  nearfar up experiment.yaml
  nearfar up --yes --on-failure destroy experiment.yaml
  nearfar up --extend experiment.yaml
  nearfar run experiment.yaml && nearfar down experiment.yaml`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.up(cmd.Context(), argumentOr(args, defaultExperiment), &o)
		},
	}
	o.make.flags(cmd.Flags())
	o.inputs.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would be made; make nothing")
	cmd.Flags().BoolVar(&o.check, "check", false, "ask the providers what they would refuse; make nothing")
	cmd.Flags().StringVarP(&o.format, "format", "f", "terminal", "with --check: form of the result: "+
		strings.Join(resultFormats(), ", "))
	cmd.Flags().BoolVar(&o.make.extend, "extend", false, "renew the time until which the machines are meant to exist")
	return cmd
}

// up makes the machines of a file, or shows what it would make.
func (a *app) up(ctx context.Context, file string, o *upOptions) error {
	if err := o.make.check(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(resultFormats(), o.format):
		return usagef("--format %s: use one of %s", o.format, strings.Join(resultFormats(), ", "))
	case o.format != "terminal" && !o.check:
		return usagef("--format goes with --check")
	case o.check && (o.make.extend || o.dryRun || o.make.yes):
		return usagef("--check makes nothing: give no --extend, --dry-run or --yes")
	}
	debug.SetGCPercent(reportGC) // a plan can be large
	e, err := a.readExperiment(file, &o.inputs)
	if err != nil {
		return err
	}
	if err := o.inputs.unused(file); err != nil {
		return err
	}
	if o.check {
		return a.checkUp(ctx, file, e, o.format)
	}
	if o.dryRun {
		p, err := a.project(file, e, o.make.extend)
		if err != nil {
			return err
		}
		plan, err := p.Plan(ctx)
		if err == nil {
			a.printChanges(a.stdout, plan, e.Provision.TTL)
		}
		return err
	}
	if err := a.make(ctx, file, e, o.make); err != nil {
		return err
	}
	a.printPast(file, e)
	// What the module says of its hosts can be wrong. The file itself was read before.
	if o.inputs.hosts == "" {
		if _, err := a.readMade(ctx, file, &o.inputs); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			// A failure, and no wrong usage: money is spent.
			return errors.New(err.Error() + "\nThe machines are up, but cannot be measured. Mend what makes them, and call " +
				"nearfar up again; or delete them with: nearfar down " + clean.Line(file))
		}
	}
	fmt.Fprintf(a.stdout, "%[1]s: the machines are up. Measure with: nearfar run %[1]s; "+
		"delete them with: nearfar down %[1]s\n", clean.Line(file))
	return nil
}
