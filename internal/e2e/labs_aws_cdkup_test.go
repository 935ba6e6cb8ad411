//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/kits/moduleroot"
	"nearfar/internal/measure/tool"
)

// newCDKLab is a copy of labs/eks-placement-group in which nearfar finds a stand-in of cdk and aws. Apps are
// synthesized by the real cdk. It also gives the folder that is the stand-in's cloud.
func newCDKLab(t *testing.T) (l *awsLab, cloud string) {
	t.Helper()
	folder, err := moduleroot.Built("cdk", "labs/eks-placement-group/cdk/package.json",
		"labs/eks-placement-group/cdk/package-lock.json")
	if err != nil {
		t.Fatalf("%v; scripts/cdk.sh installs it", err)
	}
	cloud = t.TempDir()
	bin := t.TempDir()
	installed := filepath.Join(folder, "node_modules")
	l = newAWSLab(t, "eks-placement-group", "TOOLS_IMAGE=registry.example/nearfar-tools:v1", "CLOUD="+cloud,
		"REAL_CDK="+filepath.Join(installed, ".bin", "cdk"), "AWS_REGION=eu-west-1",
		"AWS_EC2_METADATA_DISABLED=true", "CDK_DISABLE_CLI_TELEMETRY=true",
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	// Above the app: cdk in the folder of the app would be taken before the stand-in.
	if err := os.Symlink(installed, filepath.Join(l.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "labs", "cdk.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cdk", "aws"} {
		if err := os.WriteFile(filepath.Join(bin, name), text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l.file = filepath.Join(l.dir, "cdk.yaml")
	return l, cloud
}

// labs/eks-placement-group/cdk.yaml: the app of the lab is planned, deployed, found again, and deleted. It has the tags
// of this run.
func TestEKSLabUpWithCDK(t *testing.T) {
	t.Parallel()
	l, cloud := newCDKLab(t)
	cmd := exec.Command(program, "up", "--yes", l.file)
	cmd.Dir, cmd.Env = l.dir, l.env
	up := startRunning(t, cmd)
	if code := up.waitLong(); code != 0 {
		t.Fatalf("up: exit code %d\n%s", code, up.said())
	}
	for _, want := range []string{
		"create AWS::EC2::PlacementGroup Group", "create AWS::EKS::Cluster Cluster",
		" to make, 0 to change, 0 to delete",
		"ttl does not end AWS::EKS::Cluster Cluster",
	} {
		if !strings.Contains(up.said(), want) {
			t.Errorf("up does not say %q:\n%s", want, up.said())
		}
	}
	stack, err := os.ReadFile(filepath.Join(cloud, "stack.json"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct{ Resources map[string]cfnResource }
	if err := json.Unmarshal(stack, &template); err != nil {
		t.Fatal(err)
	}
	cluster := template.Resources["Cluster"]
	l.hasTags("the cluster", "eks-placement-group-cdk", cfnTags(cluster.Properties["Tags"]))
	const nothing = "Nothing to do: everything is there.\n"
	if got := l.nearfar(0, "up", "--dry-run", l.file); got != nothing {
		t.Errorf("a second plan has changes:\n%s", got)
	}
	if got := l.nearfar(1, "down", "--check", l.file); !strings.Contains(got, "/Cluster (AWS::EKS::Cluster)") {
		t.Errorf("down --check prints:\n%s", got)
	}
	// What the README reads.
	text, err := os.ReadFile(filepath.Join(l.dir, ".nearfar", "eks-placement-group-cdk", "outputs.json"))
	var outputs map[string]map[string]string
	if err == nil {
		err = json.Unmarshal(text, &outputs)
	}
	if err != nil || len(outputs) != 1 {
		t.Fatalf("%v: the outputs are %s", err, text)
	}
	for _, of := range outputs {
		if !strings.Contains(of["kubeconfig"], "aws eks update-kubeconfig") {
			t.Errorf("the outputs are %s", text)
		}
	}
	l.nearfar(0, "down", l.file)
	if _, err := os.Stat(filepath.Join(cloud, "stack.json")); !os.IsNotExist(err) {
		t.Errorf("down leaves the stack (%v)", err)
	}
	if got := l.nearfar(0, "ls"); got != "Nothing is up.\n" {
		t.Errorf("ls prints %q", got)
	}
}

// Both files of labs/eks-placement-group are the same experiment, apart from what makes the cluster.
func TestEKSLabFilesAgree(t *testing.T) {
	t.Parallel()
	var both []*experiment.Experiment
	for _, name := range []string{"experiment.yaml", "cdk.yaml"} {
		file := filepath.Join("..", "..", "labs", "eks-placement-group", name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e, err := experimentfile.ParseWith(file, text, tool.Declared(), experimentfile.Inputs{
			Variable: func(string) (string, bool) { return "x", true },
		})
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, e)
	}
	tofu, cdk := both[0], both[1]
	if tofu.Name == cdk.Name || cdk.Provision.Cdk != "./cdk" {
		t.Errorf("%s and %s: %+v", tofu.Name, cdk.Name, cdk.Provision)
	}
	retry := cdk.Provision.Retry.Variables[0][0]
	if retry.Name != "zones" || retry.Value != `["b", "c"]` {
		t.Errorf("the app gets %+v", retry)
	}
	cdk.Name, cdk.Provision = tofu.Name, tofu.Provision
	if !reflect.DeepEqual(tofu, cdk) {
		t.Errorf("the experiments differ:\n%+v\n%+v", tofu, cdk)
	}
}
