//go:build unix

package provider

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/check"
	"nearfar/internal/kits/googletest"
)

// programs are aws, az and gcloud in a folder that is the first of PATH. They note their arguments, one call a line.
type programs struct {
	t      *testing.T
	folder string
}

func newPrograms(t *testing.T) *programs {
	t.Helper()
	p := &programs{t, t.TempDir()}
	t.Setenv("PATH", p.folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("NEARFAR_TEST_CALLS", filepath.Join(p.folder, "calls"))
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NEARFAR_TEST_DATA", data)
	return p
}

// is makes a program from the lines of a shell script.
func (p *programs) is(program, script string) {
	p.t.Helper()
	script = "#!/bin/sh\necho \"" + program + " $*\" >> \"$NEARFAR_TEST_CALLS\"\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(p.folder, program), []byte(script), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// recorded makes all programs print recorded output.
func (p *programs) recorded() {
	p.is("aws", `case "$2" in
describe-instance-topology) exec cat "$NEARFAR_TEST_DATA/topology.json";;
describe-placement-groups) exec cat "$NEARFAR_TEST_DATA/groups.json";;
esac
exit 252`)
	p.is("az", `exec cat "$NEARFAR_TEST_DATA/$1.json"`)
	p.is("gcloud", `exec cat "$NEARFAR_TEST_DATA/instance.json"`)
}

func (p *programs) calls() []string {
	data, err := os.ReadFile(filepath.Join(p.folder, "calls"))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func onEC2() *check.Where {
	group := "perf"
	return &check.Where{Cloud: check.CloudAWS, Region: "us-west-2", InstanceID: "i-1111111111aaaaaaa",
		PlacementGroup: &group}
}

const inAzure = "/subscriptions/8d10da13-0000-0000-0000-000000000001/resourceGroups/"

func onAzure() *check.Where {
	return &check.Where{Cloud: check.CloudAzure, InstanceID: "02AAB8A4-74ef-476e-8182-f6d2ba4166a6",
		ResourceID: inAzure + "perf/providers/Microsoft.Compute/virtualMachines/vm-a"}
}

func onGCP() *check.Where {
	return &check.Where{Cloud: check.CloudGCP, InstanceID: "2520251811742103616", InstanceType: "a3-megagpu-8g",
		Account: "perf-tests", Zone: "us-central1-a", Name: "vm-a"}
}

func allClouds() []string { return []string{check.CloudAWS, check.CloudAzure, check.CloudGCP} }

// TestRecorded asks about machines of all clouds at once. The programs get read-only commands, and each of them once.
func TestRecorded(t *testing.T) {
	p := newPrograms(t)
	p.recorded()
	scaleSet := &check.Where{Cloud: check.CloudAzure, InstanceID: "x", ResourceID: inAzure +
		"mc_shop/providers/Microsoft.Compute/virtualMachineScaleSets/aks-linpool-1-vmss/virtualMachines/3"}
	got := Ask(t.Context(), allClouds(), []*check.Where{onEC2(), onAzure(), onGCP(), nil, scaleSet, onEC2()},
		DefaultLimits())
	text := func(s string) *string { return &s }
	on, off := true, false
	near := inAzure + "perf/providers/Microsoft.Compute/proximityPlacementGroups/near"
	const ofAzure = " --subscription 8d10da13-0000-0000-0000-000000000001 --resource-group "
	const asJSON = " --only-show-errors --output json"
	const group = "az ppg show" + ofAzure + "perf --name near --include-colocation-status" + asJSON
	ec2 := &check.Provider{
		Commands: []string{
			"aws ec2 describe-instance-topology --region us-west-2 --instance-ids i-1111111111aaaaaaa --output json",
			"aws ec2 describe-placement-groups --region us-west-2 --group-names perf --output json",
		},
		Group: text("perf"), Strategy: "cluster", State: "available",
		NetworkNodes: []string{"nn-1111111111example", "nn-2222222222example", "nn-3333333333example"},
	}
	want := []*check.Provider{
		ec2,
		{
			Commands: []string{"az vm show" + ofAzure + "perf --name vm-a" + asJSON, group,
				"az network nic show" + ofAzure + "perf --name vm-a-nic" + asJSON},
			Group: &near, Colocation: "Aligned", GroupColocation: "Aligned",
			Accelerated: &on, Configured: "machine vm-a",
		},
		{
			Commands: []string{"gcloud compute instances describe vm-a --project perf-tests --zone us-central1-a " +
				"--format json --quiet"},
			Group: text(""), Topology: &check.Topology{Cluster: "europe-west1-cluster-jfhb",
				Block: "3e3056e23cf91a5cb4a8621b6a52c100", Subblock: "0fc09525cbd5abd734342893ca1c083f",
				Host: "1215168a4ecdfb434fd4d28056589059"},
			PhysicalHost: "/3c3a1a8e/9f0b5f0e/5d41402a",
		},
		nil,
		{
			Commands: []string{"az vmss show" + ofAzure + "mc_shop --name aks-linpool-1-vmss" + asJSON, group},
			Group:    &near, GroupColocation: "Aligned",
			Accelerated: &off, Configured: "scale set aks-linpool-1-vmss",
		},
		ec2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	calls := p.calls()
	slices.Sort(calls)
	if n := len(slices.Compact(slices.Clone(calls))); n != len(calls) || n != 7 {
		t.Errorf("the programs were called %d times, %d times differently, want 7:\n%s", len(calls), n,
			strings.Join(calls, "\n"))
	}
}

// TestOnlyWhatIsNamed: the providers of other clouds are not asked.
func TestOnlyWhatIsNamed(t *testing.T) {
	p := newPrograms(t)
	p.recorded()
	got := Ask(t.Context(), []string{check.CloudAzure}, []*check.Where{onEC2(), onGCP(), nil}, DefaultLimits())
	if slices.ContainsFunc(got, func(p *check.Provider) bool { return p != nil }) || p.calls()[0] != "" {
		t.Errorf("got %+v by %q", got, p.calls())
	}
}

// TestNoAnswer: whatever a program does, the answer has a reason, and nothing in it could prove an expectation.
func TestNoAnswer(t *testing.T) {
	machines := map[string]*check.Where{"aws": onEC2(), "az": onAzure(), "gcloud": onGCP()}
	for name, test := range map[string]struct{ script, want string }{
		"no credentials": {`echo "Unable to locate credentials. Run 'login'." >&2; exit 253`,
			"exit status 253: Unable to locate credentials. Run 'login'."},
		"silent failure": {"exit 1", "exit status 1"},
		"garbage":        {`echo "<html>502 Bad Gateway</html>"`, "its output cannot be read"},
		"nothing":        {"exit 0", "its output cannot be read"},
		"cut short":      {`printf '{"Instances": [{"InstanceId":'`, "its output cannot be read"},
		"another form":   {`echo '[1, 2]'`, "its output cannot be read"},
		"wrong types":    {`echo '{"Instances": 3, "id": 3, "resourceStatus": []}'`, "its output cannot be read"},
		"empty object":   {`echo '{}'`, "show"},
		"too much":       {`yes '{"Instances": []}'`, "it printed more than 1048576 bytes"},
		"noise":          {`yes 'error' >&2`, "no answer in time"},
		"hangs":          {"sleep 600 & wait", "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPrograms(t)
			limits := DefaultLimits()
			if slices.Contains([]string{"hangs", "noise"}, name) {
				limits.Call = 300 * time.Millisecond
			}
			for program, where := range machines {
				script := test.script
				if name == "too much" {
					script += " | head -c 3000000"
				}
				p.is(program, script)
				got := Ask(t.Context(), allClouds(), []*check.Where{where}, limits)[0]
				want := test.want
				if name == "empty object" && program == "aws" {
					want = "does not list"
				}
				if got == nil || !strings.Contains(got.Problem, want) || len(got.Problem) > 2*maxProblem {
					t.Fatalf("%s: got %+v, want a problem with %q", program, got, want)
				}
				got.Problem, got.Commands = "", nil
				if diff := cmp.Diff(&check.Provider{}, got); diff != "" {
					t.Errorf("%s: the answer is not empty:\n%s", program, diff)
				}
			}
		})
	}
}

// TestProcessesEnd: what a hanging program started ends with it.
func TestProcessesEnd(t *testing.T) {
	p := newPrograms(t)
	p.is("az", `sleep 600 & echo $! > "$NEARFAR_TEST_CALLS.pid"; wait`)
	limits := DefaultLimits()
	limits.Call = 500 * time.Millisecond
	got := Ask(t.Context(), allClouds(), []*check.Where{onAzure()}, limits)[0]
	if !strings.Contains(got.Problem, "no answer in time") {
		t.Fatalf("got %+v", got)
	}
	data, err := os.ReadFile(filepath.Join(p.folder, "calls.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(state), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// TestNotInstalled says which program is missing where.
func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, w := range []*check.Where{onEC2(), onAzure(), onGCP()} {
		got := Ask(t.Context(), allClouds(), []*check.Where{w}, DefaultLimits())[0]
		if !strings.Contains(got.Problem, "not installed on the machine that runs nearfar") {
			t.Errorf("got %+v", got)
		}
	}
}

// TestAnotherMachine: an answer about another machine or group is none.
func TestAnotherMachine(t *testing.T) {
	p := newPrograms(t)
	p.recorded()
	ec2, vm, gcp := onEC2(), onAzure(), onGCP()
	ec2.InstanceID, ec2.PlacementGroup = "i-2222222222bbbbbbb", nil
	vm.InstanceID = "00000000-74ef-476e-8182-f6d2ba4166a6"
	gcp.InstanceID = "1"
	for _, test := range []struct {
		where *check.Where
		want  string
	}{
		{ec2, "does not list i-2222222222bbbbbbb"}, {vm, "az vm show shows another machine"},
		{gcp, "shows another machine"},
	} {
		got := Ask(t.Context(), allClouds(), []*check.Where{test.where}, DefaultLimits())[0]
		if !strings.Contains(got.Problem, test.want) || got.Group != nil || got.Topology != nil ||
			got.NetworkNodes != nil {
			t.Errorf("got %+v, want %q", got, test.want)
		}
	}
	// A machine that is in the group by its own account, and that the group does not list.
	p.is("az", `sed s/vm-a/vm-b/ "$NEARFAR_TEST_DATA/$1.json"`)
	vm = onAzure()
	vm.ResourceID = strings.Replace(vm.ResourceID, "vm-a", "vm-b", 1)
	got := Ask(t.Context(), allClouds(), []*check.Where{vm}, DefaultLimits())[0]
	if got.Group == nil || got.Problem != "" {
		t.Fatalf("got %+v", got)
	}
	p.is("az", `case $1 in
vm) sed s/vm-a/vm-b/ "$NEARFAR_TEST_DATA/vm.json";;
*) cat "$NEARFAR_TEST_DATA/$1.json";;
esac`)
	got = Ask(t.Context(), allClouds(), []*check.Where{vm}, DefaultLimits())[0]
	if got.Group != nil || !strings.Contains(got.Problem, "does not list the machine") {
		t.Errorf("got %+v", got)
	}
	// A machine in no group, which az shows without the key.
	p.is("az", `sed /proximityPlacementGroup/,/}/d "$NEARFAR_TEST_DATA/$1.json"`)
	got = Ask(t.Context(), allClouds(), []*check.Where{onAzure()}, DefaultLimits())[0]
	if got.Group == nil || *got.Group != "" || got.Problem != "" {
		t.Errorf("got %+v", got)
	}
	// The machine names no group, but it is in a set, and the set can be in a group.
	for _, set := range []string{"availabilitySet", "virtualMachineScaleSet"} {
		p.is("az", `sed s/proximityPlacementGroup\"/`+set+`\"/ "$NEARFAR_TEST_DATA/vm.json"`)
		got = Ask(t.Context(), allClouds(), []*check.Where{onAzure()}, DefaultLimits())[0]
		if got.Group != nil || !strings.Contains(got.Problem, "the set of the machine can be in one") {
			t.Errorf("%s: got %+v", set, got)
		}
	}
}

// TestPolicyOfGCP: the policy of a machine is known, also if its type has no topology, as C2.
func TestPolicyOfGCP(t *testing.T) {
	p := newPrograms(t)
	where := onGCP()
	where.InstanceType = "c2-standard-4"
	gcloud := func(policies, policy string) *check.Provider {
		t.Helper()
		p.is("gcloud", `case "$2" in
instances) echo '{"id": "2520251811742103616", "resourceStatus": {}, "resourcePolicies": `+policies+`}';;
resource-policies) echo '`+policy+`';;
esac`)
		return Ask(t.Context(), allClouds(), []*check.Where{where}, DefaultLimits())[0]
	}
	const near = `["https://www.googleapis.com/compute/v1/projects/perf-tests/regions/us-central1/resourcePolicies/near"]`
	got := gcloud(near, `{"name": "near", "status": "READY", "groupPlacementPolicy": {"collocation": "COLLOCATED"}}`)
	const asked = "gcloud compute resource-policies describe near --project perf-tests --region us-central1 --format " +
		"json --quiet"
	if got.Group == nil || *got.Group != "near" || got.Strategy != "COLLOCATED" || got.State != "READY" ||
		got.Problem != "gcloud compute instances describe names no physical topology of a c2-standard-4" ||
		got.Commands[1] != asked {
		t.Errorf("got %+v", got)
	}
	got = gcloud("[]", "")
	if got.Group == nil || *got.Group != "" {
		t.Errorf("without a policy: %+v", got)
	}
	got = gcloud(near, `{"name": "near", "instanceSchedulePolicy": {}}`)
	if got.Group == nil || *got.Group != "" || got.Strategy != "" {
		t.Errorf("with a policy that is about no placement: %+v", got)
	}
	for _, bad := range []string{
		`["--project=x"]`, `["regions/../resourcePolicies/near"]`, `["regions/a/resourcePolicies/-x"]`,
	} {
		got = gcloud(bad, "{}")
		if got.Group != nil || !strings.Contains(got.Problem, "names a policy") || len(got.Commands) != 1 {
			t.Errorf("%s: %+v", bad, got)
		}
	}
	got = gcloud(near, `{"name": "other"}`)
	if got.Group != nil || !strings.Contains(got.Problem, "shows another policy") {
		t.Errorf("with another policy: %+v", got)
	}
}

// TestUnsupportedType: EC2 lists an instance of a type without a topology, and names no nodes. The group's strategy is
// known nevertheless.
func TestUnsupportedType(t *testing.T) {
	p := newPrograms(t)
	p.recorded()
	p.is("aws", `case "$2" in
describe-instance-topology) echo '{"Instances": [{"InstanceId": "i-1111111111aaaaaaa", "NetworkNodes": null}]}';;
*) cat "$NEARFAR_TEST_DATA/groups.json";;
esac`)
	got := Ask(t.Context(), allClouds(), []*check.Where{onEC2()}, DefaultLimits())[0]
	if got.Strategy != "cluster" || got.NetworkNodes != nil || got.Group != nil ||
		!strings.Contains(got.Problem, "names no network nodes") {
		t.Errorf("got %+v", got)
	}
}

// TestHostileMachines: what a machine says of itself becomes no flag, no file and no URL of a program.
func TestHostileMachines(t *testing.T) {
	p := newPrograms(t)
	p.recorded()
	for _, evil := range []string{
		"", "-x", "--debug", "file:///etc/passwd", "http://127.0.0.1/", "@/etc/passwd", "a b", "a;b", "a\nb", "$(id)",
		"a&b", "é", strings.Repeat("a", 300), "..", "a/../b",
	} {
		vm := onAzure()
		vm.ResourceID = strings.Replace(vm.ResourceID, "vm-a", evil, 1)
		group := onAzure()
		group.ResourceID = strings.Replace(group.ResourceID, "resourceGroups/perf", "resourceGroups/"+evil, 1)
		account := onAzure()
		account.ResourceID = strings.Replace(account.ResourceID, "8d10da13-0000-0000-0000-000000000001", evil, 1)
		for _, w := range []*check.Where{
			{Cloud: check.CloudAWS, Region: evil, InstanceID: onEC2().InstanceID},
			{Cloud: check.CloudAWS, Region: "us-west-2", InstanceID: evil}, vm, group, account,
			{Cloud: check.CloudGCP, Account: evil, Zone: "us-central1-a", Name: "vm-a"},
			{Cloud: check.CloudGCP, Account: "perf-tests", Zone: evil, Name: "vm-a"},
			{Cloud: check.CloudGCP, Account: "perf-tests", Zone: "us-central1-a", Name: evil},
		} {
			got := Ask(t.Context(), allClouds(), []*check.Where{w}, DefaultLimits())[0]
			if len(got.Commands) > 0 || got.Problem == "" {
				t.Errorf("%q: got %+v", evil, got)
			}
		}
	}
	if calls := p.calls(); calls[0] != "" {
		t.Errorf("programs were called: %q", calls)
	}
	name := onEC2()
	*name.PlacementGroup = "file:///etc/passwd"
	p.is("aws", "echo '{}'")
	if got := Ask(t.Context(), allClouds(), []*check.Where{name}, DefaultLimits())[0]; len(got.Commands) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestManyMachines: beyond a number of machines nothing is asked, which the answers say.
func TestManyMachines(t *testing.T) {
	newPrograms(t).recorded()
	limits := DefaultLimits()
	limits.Machines = 2
	got := Ask(t.Context(), allClouds(), []*check.Where{onGCP(), onGCP(), onGCP()}, limits)
	if got[1].Problem != "" || !strings.Contains(got[2].Problem, "2 machines at most") {
		t.Errorf("got %+v", got)
	}
}

func TestCommands(t *testing.T) {
	for _, cloud := range allClouds() {
		commands := Commands(cloud)
		if len(commands) == 0 {
			t.Errorf("%s is asked nothing", cloud)
		}
		for _, c := range commands {
			if !strings.Contains(c, " describe") && !strings.Contains(c, " show ") {
				t.Errorf("%s: %s does more than read", cloud, c)
			}
		}
	}
}

// TestInterfacesOfAMachine: az shows another interface than it was asked about, refuses, or names what is none. The
// group is known nevertheless, and the configuration is not.
func TestInterfacesOfAMachine(t *testing.T) {
	p := newPrograms(t)
	for _, test := range []struct{ az, want string }{
		{`network) sed s/vm-a-nic/vm-b-nic/ "$NEARFAR_TEST_DATA/$1.json";;`, "shows another interface"},
		{`network) echo 'ERROR: (AuthorizationFailed)' >&2; exit 1;;`, "AuthorizationFailed"},
		{
			`vm) sed 's#networkInterfaces/vm-a-nic#networkInterfaces/--all#' "$NEARFAR_TEST_DATA/vm.json";;`,
			"cannot be asked",
		},
		{`network) sed s/enableAccelerated/enabled/ "$NEARFAR_TEST_DATA/$1.json";;`, ""},
	} {
		p.is("az", "case $1 in\n"+test.az+"\n*) cat \"$NEARFAR_TEST_DATA/$1.json\";;\nesac")
		got := Ask(t.Context(), allClouds(), []*check.Where{onAzure()}, DefaultLimits())[0]
		if got.Accelerated != nil || got.Group == nil || got.Colocation != "Aligned" ||
			!strings.Contains(got.Problem, test.want) || (got.Problem == "") != (test.want == "") {
			t.Errorf("%s: got %+v", test.az, got)
		}
	}
}

// The real gcloud tells the policy and the topology of machines that the fake of the Compute Engine API has.
func TestGCPWithGcloud(t *testing.T) {
	cloud := googletest.New(t)
	for _, one := range cloud.Gcloud(t) {
		name, value, _ := strings.Cut(one, "=")
		t.Setenv(name, value)
	}
	const zone, region = "zones/" + googletest.Region + "-a/", "regions/" + googletest.Region + "/"
	cloud.Make(http.MethodPost, "global/networks", `{"name": "n", "autoCreateSubnetworks": false}`)
	cloud.Make(http.MethodPost, region+"subnetworks",
		`{"name": "s", "network": "global/networks/n", "ipCidrRange": "10.0.1.0/24"}`)
	cloud.Make(http.MethodPost, region+"resourcePolicies",
		`{"name": "near", "groupPlacementPolicy": {"collocation": "COLLOCATED"}}`)
	var machines []*check.Where
	for name, policies := range map[string]string{"a": `["` + region + `resourcePolicies/near"]`, "b": "[]"} {
		cloud.Make(http.MethodPost, zone+"instances", `{"name": "`+name+`", "resourcePolicies": `+policies+`,
			"machineType": "`+zone+`machineTypes/c2-standard-4",
			"disks": [{"boot": true, "autoDelete": true, "initializeParams": {
				"sourceImage": "projects/debian-cloud/global/images/family/debian-12"}}],
			"networkInterfaces": [{"subnetwork": "`+region+`subnetworks/s"}]}`)
		id, _ := cloud.Resource("projects/"+googletest.Project+"/"+zone+"instances/"+name, "id").(string)
		machines = append(machines, &check.Where{Cloud: check.CloudGCP, InstanceID: id, InstanceType: "c2-standard-4",
			Account: googletest.Project, Zone: googletest.Region + "-a", Name: name})
	}
	limits := DefaultLimits()
	limits.Call, limits.All = 10*time.Minute, 20*time.Minute // gcloud takes three seconds of CPU time
	for i, got := range Ask(t.Context(), allClouds(), machines, limits) {
		group, strategy := "", ""
		if machines[i].Name == "a" {
			group, strategy = "near", "COLLOCATED"
		}
		if got.Group == nil || *got.Group != group || got.Strategy != strategy || got.Topology == nil || got.Problem != "" {
			t.Errorf("%s: %+v", machines[i].Name, got)
		}
	}
}
