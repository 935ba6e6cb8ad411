//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"nearfar/internal/cli"
	"nearfar/internal/kits/moduleroot"
)

// judged runs a program that judges, with variables of its own. It gives what the program prints.
func judged(t *testing.T, env []string, argv ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "HOME="+t.TempDir()), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// krew's own check accepts the manifest: it installs every platform of a release from where the manifest says. A wrong
// sum is refused, so that the check can fail.
func TestKrew(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds krew")
	}
	t.Parallel()
	r := newRelease(t, "1.2.3")
	site := newSite(t, "0.0.1", standIn("0.0.1"))
	r.place = site.URL + "/nearfar/releases"
	r.mustMake(t)
	for name, content := range tree(t, r.out) {
		site.files["/nearfar/releases/download/v1.2.3/"+name] = []byte(content)
	}
	krew, check := moduleroot.Judge(t, "krew"), moduleroot.Judge(t, "validate-krew-manifest")
	folder := t.TempDir()
	// kubectl calls its plugins so; nothing else of kubectl is asked.
	save(t, filepath.Join(folder, "kubectl"), []byte("#!/bin/sh\nshift\nexec '"+krew+"' \"$@\"\n"), 0o755)
	path := "PATH=" + folder + ":" + os.Getenv("PATH")
	manifest := filepath.Join(r.out, "nearfar.yaml")
	said, err := judged(t, []string{path}, check, "-manifest", manifest)
	if err != nil || !strings.Contains(said, "all 5 spec.platforms installed fine") {
		t.Errorf("%v\n%s", err, said)
	}

	root := filepath.Join(t.TempDir(), "krew")
	if said, err := judged(t, []string{path, "KREW_ROOT=" + root}, krew, "install", "--manifest", manifest); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	said, err = judged(t, nil, filepath.Join(root, "bin", "kubectl-nearfar"))
	if err != nil || !strings.HasPrefix(said, "nearfar 1.2.3 ") {
		t.Errorf("what krew installed prints %q, %v", said, err)
	}

	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "nearfar.yaml")
	sum := bytes.Index(text, []byte("sha256: ")) + len("sha256: ")
	save(t, wrong, slices.Concat(text[:sum], bytes.Repeat([]byte("0"), 64), text[sum+64:]), 0o644)
	if said, err := judged(t, []string{path}, check, "-manifest", wrong); err == nil {
		t.Errorf("a wrong sum is accepted:\n%s", said)
	}
}

// chartExperiment uses all that the Role of the chart is for.
const chartExperiment = `nearfar: v1
name: paths
question: "What does a Service add, and is {{ .this }} no template?"
baseline: pod
arms:
  pod: {kubernetes: {namespace: perf}}
  service: {kubernetes: {namespace: perf, through: ClusterIP}}
workloads: [{name: rr, tool: native, mode: rr, duration: 1s}]
`

// helm accepts the chart of a release, and what it makes of it is what `nearfar kube --manifests` prints.
func TestChart(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds helm")
	}
	t.Parallel()
	r := newRelease(t, "1.2.3")
	r.mustMake(t)
	// This helm was built without the version of a cluster that it assumes.
	const version = "--kube-version=1.34.0"
	helm, chart := moduleroot.Judge(t, "helm"), filepath.Join(r.out, "nearfar-1.2.3-chart.tgz")
	experiment := filepath.Join(t.TempDir(), "experiment.yaml")
	save(t, experiment, []byte(chartExperiment), 0o644)
	least := []string{"--set-file", "experiment=" + experiment, "--set", "image=r.example/nearfar:1", version}
	said, err := judged(t, nil, slices.Concat([]string{helm, "lint", "--strict", chart}, least)...)
	if err != nil || !strings.Contains(said, "1 chart(s) linted, 0 chart(s) failed") {
		t.Errorf("%v\n%s", err, said)
	}
	if said, err := judged(t, nil, helm, "template", "x", chart, version, "--set", "image=x"); err == nil ||
		!strings.Contains(said, "experiment is missing") {
		t.Errorf("without an experiment: %v\n%s", err, said)
	}

	if said, err := judged(t, nil, slices.Concat([]string{helm, "template", "x", chart, "--set", "shedule=@daily"},
		least)...); err == nil || !strings.Contains(said, "shedule") {
		t.Errorf("with a misspelt value: %v\n%s", err, said)
	}

	for _, c := range []struct {
		name          string
		values, flags []string
	}{
		{"job", nil, nil},
		{"cronjob", []string{
			"--set", "schedule=0 3 * * *", "--set", "resultsClaim=runs", "--set", "imagePullSecrets[0].name=pull",
			"--set", "metricsPush=http://gateway:9091/metrics/job/nearfar", "--set", "args={--force}",
		}, []string{
			"--schedule", "0 3 * * *", "--results-claim", "runs", "--image-pull-secret", "pull",
			"--metrics-push", "http://gateway:9091/metrics/job/nearfar", "--force",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			made, err := judged(t, nil, slices.Concat([]string{
				helm, "template", "nearfar-paths", chart, "--namespace", "perf",
			}, least, c.values)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, made)
			}
			var printed, problems bytes.Buffer
			args := slices.Concat([]string{
				"kube", "--manifests", "--namespace", "perf", "--nearfar-image", "r.example/nearfar:1",
			}, c.flags, []string{experiment})
			if code := cli.Main(args, strings.NewReader(""), &printed, &problems); code != 0 {
				t.Fatalf("exit code %d: %s", code, problems.String())
			}
			if diff := cmp.Diff(objectsIn(t, printed.String()), objectsIn(t, made)); diff != "" {
				t.Errorf("(-nearfar kube --manifests +helm template):\n%s", diff)
			}
		})
	}

	wide, err := judged(t, nil, slices.Concat([]string{helm, "template", "x", chart, "--set", "clusterWide=true",
		"--set", "readNodes=false"}, least)...)
	objects := objectsIn(t, wide)
	if _, found := objects["Role"]; err != nil || found {
		t.Errorf("with the rights in the whole cluster: %v\n%s", err, wide)
	}
	role, _ := objects["ClusterRole"].(map[string]any)
	if rules, _ := role["rules"].([]any); len(rules) != 8 {
		t.Errorf("in the whole cluster there are the rules %v", rules)
	}
}

// withoutEmpty leaves out the keys of a document that have no value.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, of := range value {
			value[key] = withoutEmpty(of)
			if inner, is := value[key].(map[string]any); is && len(inner) == 0 {
				delete(value, key)
			}
		}
	case []any:
		for i := range value {
			value[i] = withoutEmpty(value[i])
		}
	}
	return value
}

// objectsIn reads objects by their kinds. A Job of the chart has the revision in its name, which is left out.
func objectsIn(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if len(object) == 0 {
			continue
		}
		object, _ = withoutEmpty(object).(map[string]any)
		kind, _ := object["kind"].(string)
		metadata, _ := object["metadata"].(map[string]any)
		if name, _ := metadata["name"].(string); kind == "Job" {
			metadata["name"] = strings.TrimSuffix(name, "-1")
		}
		if _, twice := all[kind]; twice {
			t.Errorf("there are two of the kind %s", kind)
		}
		all[kind] = object
	}
	return all
}
