package cli

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

// A text that kube writes into a file is read as the same text, whatever is in it.
func FuzzScalar(f *testing.F) {
	for _, seed := range []string{
		"node-1", "true", "No", "1", "a: b", "a:b", "{x}", "${HOME}", "$${X}", "\"", "#", "~", "a b", "0x1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			return // flags with control characters are refused with their place in the file
		}
		var got struct{ Key any }
		if err := yaml.Load([]byte("{key: "+scalar(text)+"}"), &got); err != nil {
			t.Fatalf("%q is written as %s: %v", text, scalar(text), err)
		}
		if got.Key != strings.ReplaceAll(text, "${", "$${") {
			t.Fatalf("%q is written as %s and read as %#v", text, scalar(text), got.Key)
		}
	})
}

// Whatever a configuration of k8s-netperf says, it is refused, or makes a file that can be run.
func FuzzNetperf(f *testing.F) {
	script, err := os.ReadFile("testdata/script/kube.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(script), "\n-- ") {
		if name, text, _ := strings.Cut(part, "\n"); strings.Contains(name, ".yml") {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte("tests: [{a: {profile: TCP_RR, duration: 1, messagesize: 1, samples: 100000}}]"))
	f.Add([]byte("tests: [{name: {profile: UDP_STREAM, duration: 99999999, messagesize: 70000, parallelism: 1000}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tests, err := readNetperf("netperf.yml", data)
		if err != nil {
			return
		}
		plan := kubePlan{name: "kube"}
		if plan.take(tests) != nil {
			return
		}
		plan.makeArms()
		if err := plan.chooseBlocks(); err != nil {
			return // a value beyond the limits of an experiment
		}
		e, err := experimentfile.Parse("x.yaml", plan.write(), tool.Declared())
		if err != nil {
			t.Fatalf("%v\n%s", err, plan.write())
		}
		if len(e.Workloads) != len(plan.workloads) || !e.HasPods() {
			t.Errorf("%d workloads of %d\n%s", len(e.Workloads), len(plan.workloads), plan.write())
		}
	})
}
