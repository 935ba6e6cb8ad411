//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// isTime says whether a text is a time as nearfar gives it to modules.
func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// awsLabs are the labs with a module for AWS, and the variables that their experiment files need.
func awsLabs() map[string][]string {
	return map[string][]string{
		"ec2-placement-group": {"SSH_FROM=203.0.113.7/32", "SSH_PUBLIC_KEY=ssh-ed25519 AAAA"},
		"eks-placement-group": {"TOOLS_IMAGE=registry.example/nearfar-tools:v1"},
	}
}

// Everything of the lab for EKS is made, found again by a second plan, tagged, and deleted. The cloud is a folder.
// TestLabsMade does this with the lab for EC2, and runs it.
func TestEKSLabUpAndDown(t *testing.T) {
	t.Parallel()
	const name = "eks-placement-group"
	l := newAWSLab(t, name, awsLabs()[name]...)
	if got := l.nearfar(0, "up", "--dry-run", l.file); !strings.Contains(got, "create aws_placement_group.this\n") {
		t.Errorf("up --dry-run prints:\n%s", got)
	}
	l.nearfar(0, "up", "--yes", l.file)
	made := l.providers.Resources()
	inState := 0
	for _, r := range l.state() {
		inState += len(r.Instances)
	}
	if len(made) == 0 || len(made) != inState {
		t.Errorf("the cloud has %d resources, the state %d", len(made), inState)
	}
	const nothing = "Nothing to do: everything is there.\n"
	if got := l.nearfar(0, "up", "--dry-run", l.file); got != nothing {
		t.Errorf("a second plan has changes:\n%s", got)
	}
	l.tagged(name)
	checkEKSLab(l)
	l.nearfar(0, "down", l.file)
	if left := l.providers.Resources(); len(left) > 0 {
		t.Errorf("down leaves %v", left)
	}
	if got := l.nearfar(0, "ls"); got != "Nothing is up.\n" {
		t.Errorf("ls prints %q", got)
	}
}

// checkEC2Lab checks that the three pairs differ only in the placement group and in ENA Express.
func checkEC2Lab(l *awsLab) {
	t := l.t
	t.Helper()
	type instance struct {
		InstanceType   string `json:"instance_type"`
		PlacementGroup string `json:"placement_group"`
		AMI            string
		UserData       string `json:"user_data"`
		Shutdown       string `json:"instance_initiated_shutdown_behavior"`
		LaunchTemplate []struct {
			ID string
		} `json:"launch_template"`
	}
	type group struct{ Name, Strategy string }
	machines := instances[instance](l, "aws_instance")
	templates := instances[launchTemplate](l, "aws_launch_template")
	placed := instances[group](l, "aws_placement_group")[""]
	if placed.Name == "" || placed.Strategy != "cluster" {
		t.Errorf("the placement group is %+v", placed)
	}
	first := machines["apart-client"]
	for _, arm := range []string{"apart", "group", "ena-express"} {
		for _, side := range []string{"client", "server"} {
			m, ok := machines[arm+"-"+side]
			wantGroup, wantTemplate := "", "plain"
			switch arm {
			case "group":
				wantGroup = placed.Name
			case "ena-express":
				wantTemplate = "ena-express"
			}
			// The made-up cloud gives names to groups that a module leaves to it.
			inGroup := m.PlacementGroup == placed.Name
			if !ok || inGroup != (wantGroup != "") || len(m.LaunchTemplate) != 1 ||
				m.LaunchTemplate[0].ID != templates[wantTemplate].ID {
				t.Errorf("%s-%s is %+v", arm, side, m)
			}
			if m.InstanceType != first.InstanceType || m.AMI != first.AMI || m.UserData != first.UserData {
				t.Errorf("%s-%s differs from apart-client in more than its arm", arm, side)
			}
			if m.Shutdown != "terminate" {
				t.Errorf("%s-%s: a shutdown leads to %q", arm, side, m.Shutdown)
			}
		}
	}
	if len(machines) != 6 {
		t.Errorf("%d machines", len(machines))
	}
	for key, template := range templates {
		i := template.NetworkInterfaces[0]
		if on := len(i.EnaSrd) > 0; on != (key == "ena-express") || i.DeletedWithOwner != "true" ||
			i.SubnetID != templates["plain"].NetworkInterfaces[0].SubnetID {
			t.Errorf("the launch template %s has the interface %+v", key, i)
		}
	}
	checkFirstStart(t, first.UserData)
}

// checkFirstStart checks that bash can read the script of a machine's first start, and that systemd can read the time
// of its timer.
func checkFirstStart(t *testing.T, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-n")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	_, after, _ := strings.Cut(script, "\nOnCalendar=")
	at, _, _ := strings.Cut(after, "\n")
	when, err := time.Parse("2006-01-02 15:04:05 MST", at)
	if until := time.Until(when); err != nil || until < time.Hour || until > 3*time.Hour {
		t.Errorf("the machine ends at %q (%v): the file says ttl: 2h", at, err)
	}
	if !strings.Contains(script, "date -d '"+at+"'") || strings.Contains(script, "${expires}") {
		t.Errorf("the script lacks the time %s:\n%s", at, script)
	}
}

// checkEKSLab checks that the two node groups differ only in the placement group and its label.
func checkEKSLab(l *awsLab) {
	t := l.t
	t.Helper()
	c := l.clusterOfState()
	if c.GroupStrategy != "cluster" {
		t.Errorf("the placement group is a %q", c.GroupStrategy)
	}
	placed, apart := c.NodeGroups["placed"], c.NodeGroups["apart"]
	if len(c.NodeGroups) != 2 || !placed.InGroup || apart.InGroup || placed.Label != "true" || apart.Label != "false" ||
		placed.Zone != "a" || placed.HopLimit != 2 {
		t.Errorf("the node groups are %+v", c.NodeGroups)
	}
	apart.InGroup, apart.Label = placed.InGroup, placed.Label
	if placed != apart {
		t.Errorf("the node groups differ in more than the placement group:\n%+v\n%+v", placed, apart)
	}
	// The command of the README reads the output from the state.
	want := "aws eks update-kubeconfig --region eu-west-1 --name " + c.Name
	if got := l.outputs()["kubeconfig"].Value; got != want {
		t.Errorf("the output kubeconfig is %q, want %q", got, want)
	}
}

// The tests of the modules themselves, which need no cloud either.
func TestAWSLabModules(t *testing.T) {
	t.Parallel()
	for name := range awsLabs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newAWSLab(t, name)
			l.mustTofu("init", "-input=false", "-no-color")
			if out, ok := l.tofu("fmt", "-check", "-recursive", "-diff"); !ok {
				t.Errorf("tofu fmt would change:\n%s", out)
			}
			l.mustTofu("validate", "-no-color")
			if out := l.mustTofu("test", "-no-color"); !strings.Contains(out, " passed, 0 failed.") {
				t.Errorf("tofu test:\n%s", out)
			}
		})
	}
}

// The schema is the real provider's: a module with a wrong, a missing or a misplaced argument is refused.
func TestAWSLabArguments(t *testing.T) {
	t.Parallel()
	const ec2, eks = "ec2-placement-group", "eks-placement-group"
	for name, change := range map[string]struct{ lab, file, from, to, says string }{
		"unknown": {ec2, "machines.tf", "instance_type   =", "instance_typ =", "Unsupported argument"},
		"missing": {ec2, "machines.tf", "  strategy = \"cluster\"\n", "", "Missing required argument"},
		"nested":  {ec2, "machines.tf", "ena_srd_enabled =", "srd_enabled =", "Unsupported argument"},
		"type":    {eks, "nodes.tf", "min_size     = 2", "min_size = \"two\"", "Incorrect attribute value type"},
		"block":   {eks, "nodes.tf", "  scaling_config {", "  scaling {", "Unsupported block type"},
		"resource": {
			eks, "cluster.tf", `"aws_iam_role" "this"`, `"aws_role" "this"`, "Invalid resource type",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newAWSLab(t, change.lab)
			file := filepath.Join(l.module(), change.file)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wrong := strings.Replace(string(text), change.from, change.to, 1)
			if wrong == string(text) {
				t.Fatalf("%s has no %q", change.file, change.from)
			}
			if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
				t.Fatal(err)
			}
			l.mustTofu("init", "-input=false", "-no-color")
			if out, ok := l.tofu("validate", "-no-color"); ok || !strings.Contains(out, change.says) {
				t.Errorf("tofu validate says:\n%s", out)
			}
		})
	}
}
