package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"nearfar/internal/cloud/cloudtool"
	"nearfar/internal/declare/check"
)

// A cloud is a provider, and what its user must have.
type cloud struct {
	// name is also the name that facts of hosts have for it.
	name string
	// program is the provider's own. It must answer each of asks; login says what to do if it does not.
	program string
	asks    [][]string
	login   string
	// needs are variables of the environment.
	needs []string
	// labs are the labs on this provider, the default first.
	labs []lab
}

// A lab is a lab of labs/ in which everything that is expected can be proved.
type lab struct {
	// name is its folder, file the experiment file there.
	name, file string
	// needs are further variables of the environment. given are variables of the file for which the module has one
	// right value.
	needs []string
	given map[string]string
	// time is how long its machines may exist, unless the user says it. reserve is the part of it that is kept for
	// deleting them.
	time, reserve time.Duration
	// kubeconfig gives the command that writes how the cluster is reached into a file, from the outputs of the module;
	// nil for machines that ssh reaches.
	kubeconfig func(outputs outputs, file string) []string
}

// The times of labs, from what their READMEs say, with room.
const (
	machinesTime, machinesReserve = time.Hour, 15 * time.Minute
	clusterTime, clusterReserve   = 150 * time.Minute, 45 * time.Minute
)

// clouds are the providers.
func clouds() []cloud {
	machines := []string{"SSH_PUBLIC_KEY", "SSH_FROM"}
	google := [][]string{{"gcloud", "projects", "describe", os.Getenv("GOOGLE_PROJECT"), "--format=json"}}
	if os.Getenv("GOOGLE_APPLICATION_CREDENTIALS") == "" && os.Getenv("GOOGLE_CREDENTIALS") == "" {
		google = append(google, []string{"gcloud", "auth", "application-default", "print-access-token"})
	}
	return []cloud{
		{
			name: check.CloudAzure, program: "az", login: "az login", needs: []string{"ARM_SUBSCRIPTION_ID"},
			asks: [][]string{
				{"az", "account", "show", "--subscription", os.Getenv("ARM_SUBSCRIPTION_ID"), "--only-show-errors"},
			},
			labs: []lab{
				{
					name: "azure-zones", file: "made.yaml", needs: machines,
					time: machinesTime, reserve: machinesReserve,
				},
				{
					name: "azure-ppg", file: "linux.yaml", needs: machines,
					time: machinesTime, reserve: machinesReserve,
				},
				{
					name: "aks-accelerated-networking", file: "experiment.yaml", needs: []string{"TOOLS_IMAGE"},
					given: map[string]string{"PLAIN": "linoff", "ACCELERATED": "linon"},
					time:  clusterTime, reserve: clusterReserve,
					kubeconfig: func(o outputs, file string) []string {
						return []string{
							"az", "aks", "get-credentials", "--resource-group", o.text("cluster", "resource_group"),
							"--name", o.text("cluster", "name"), "--file", file, "--only-show-errors",
						}
					},
				},
			},
		},
		{
			name: check.CloudAWS, program: "aws", login: "aws configure, or the variables AWS_ACCESS_KEY_ID and so on",
			asks:  [][]string{{"aws", "sts", "get-caller-identity", "--output", "json"}},
			needs: []string{"AWS_REGION"},
			labs: []lab{
				{
					name: "ec2-placement-group", file: "experiment.yaml", needs: machines,
					time: machinesTime, reserve: machinesReserve,
				},
				{
					name: "eks-placement-group", file: "experiment.yaml", needs: []string{"TOOLS_IMAGE"},
					time: clusterTime, reserve: clusterReserve,
					kubeconfig: func(o outputs, file string) []string {
						return []string{
							"aws", "eks", "update-kubeconfig", "--region", o.text("region"), "--name",
							o.text("cluster"), "--kubeconfig", file,
						}
					},
				},
			},
		},
		{
			name: check.CloudGCP, program: "gcloud", asks: google,
			login: "gcloud auth login, and gcloud auth application-default login", needs: []string{"GOOGLE_PROJECT"},
			labs: []lab{{
				name: "gcp-compact-placement", file: "experiment.yaml", needs: machines,
				time: machinesTime, reserve: machinesReserve,
			}},
		},
	}
}

func cloudNames() (names []string) {
	for _, c := range clouds() {
		names = append(names, c.name)
	}
	return names
}

// find finds a lab of a provider.
func find(provider, name string) (cloud, lab, error) {
	all := clouds()
	at := slices.IndexFunc(all, func(c cloud) bool { return c.name == provider })
	if at < 0 {
		return cloud{}, lab{}, refusedf("say where: make cloud-test PROVIDER=%s", strings.Join(cloudNames(), "|"))
	}
	c := all[at]
	var names []string
	for _, l := range c.labs {
		if names = append(names, l.name); name == "" || l.name == name {
			return c, l, nil
		}
	}
	return c, lab{}, refusedf("%s has no lab %s here: LAB=%s", provider, name, strings.Join(names, "|"))
}

const (
	// askLimit bounds one question about a login.
	askLimit = time.Minute
	// maxAnswer bounds what a provider's program may print, in bytes.
	maxAnswer = 1 << 20
)

// missing says what a user lacks, all of it at once; nil if nothing.
func missing(ctx context.Context, c cloud, l lab) error {
	var lacks []error
	for _, name := range slices.Concat(c.needs, l.needs) {
		if os.Getenv(name) == "" {
			lacks = append(lacks, fmt.Errorf("set %s: labs/%s/README.md says what it is", name, l.name))
		}
	}
	_, tofu := exec.LookPath("tofu")
	if _, terraform := exec.LookPath("terraform"); tofu != nil && terraform != nil {
		lacks = append(lacks, errors.New("install OpenTofu (https://opentofu.org) or Terraform"))
	}
	if l.kubeconfig == nil {
		if _, err := exec.LookPath("ssh"); err != nil {
			lacks = append(lacks, errors.New("install ssh"))
		}
	}
	if _, err := exec.LookPath(c.program); err != nil {
		lacks = append(lacks, fmt.Errorf("install %s, the program of the provider", c.program))
	} else if len(lacks) == 0 { // the questions need the variables
		lacks = append(lacks, loggedIn(ctx, c))
	}
	if err := errors.Join(lacks...); err != nil {
		return refusedf("this is missing:\n%w", err)
	}
	return nil
}

// loggedIn asks the provider's program. What it answers can be a secret, and is not kept.
func loggedIn(ctx context.Context, c cloud) error {
	for _, argv := range c.asks {
		limited, cancel := context.WithTimeout(ctx, askLimit)
		_, err := cloudtool.Run(limited, maxAnswer, argv...)
		cancel()
		if err != nil {
			return fmt.Errorf("log in with %s: %s: %w", c.login, cloudtool.Name(argv...), err)
		}
	}
	return nil
}
