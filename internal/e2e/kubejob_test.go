//go:build linux

package e2e

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/kits/kubetest"
	"nearfar/internal/kits/moduleroot"
)

// jobImage is the image of nearfar that docs/kubernetes.md names.
const jobImage = "registry.example/perf/nearfar:0.1.0"

// loadJobImage makes the image of nearfar, as nearfar writes it of itself, and loads it on all nodes.
func (r *kubeRig) loadJobImage() {
	r.t.Helper()
	archive := filepath.Join(r.dir, "nearfar.tar")
	nearfar(r.t, r.dir, nil, "image", "--nearfar", "-o", archive, "--name", jobImage)
	r.LoadImage(archive)
}

// jobs runs an experiment inside the cluster, as the Job of `nearfar kube --manifests`: the commands of
// docs/kubernetes.md.
func (r *kubeRig) jobs() {
	r.answers(r.typed("nearfar kube --manifests "), "other-node", "same-node")
	r.noJobsLeft()
}

// TestKubernetesChart: the real helm installs the chart as docs/kubernetes.md says, which runs an experiment, and its
// run directory comes out of a volume. Then a CronJob runs one, and pushes its figures. The namespace enforces Pod
// Security restricted.
func TestKubernetesChart(t *testing.T) {
	t.Parallel()
	r := newKubeRig(t, kubetest.Options{})
	r.loadJobImage()
	r.Kubectl("create", "namespace", "jobs")
	r.Kubectl("label", "namespace", "jobs", "pod-security.kubernetes.io/enforce=restricted")
	r.providesVolume()
	r.packsChart()
	r.answers(r.typed("nearfar kube --print --namespace "), "cluster-ip")
	r.cameOut()
	r.cronJob()
	r.noJobsLeft()
}

// answers checks that the log of a Job has the answer about arms.
func (r *kubeRig) answers(log string, arms ...string) {
	r.t.Helper()
	for _, part := range append(arms, "rr, rtt") {
		if !strings.Contains(log, part) {
			r.t.Errorf("the answer has no %q", part)
		}
	}
}

// noJobsLeft fails the test if runs inside the cluster have left something.
func (r *kubeRig) noJobsLeft() {
	r.t.Helper()
	left, err := r.Try("-n", "jobs", "get", "pods,services,networkpolicies,serviceaccounts", "-o", "name", "-l",
		"app.kubernetes.io/managed-by=nearfar")
	if err != nil || strings.TrimSpace(left) != "" {
		r.t.Errorf("left: %s %v", left, err)
	}
}

// providesVolume makes the volume of a claim: a folder of node n1, which the user of the pods may write.
func (r *kubeRig) providesVolume() {
	r.t.Helper()
	const folder = "/var/lib/jobs"
	r.Apply(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "folder"}, "spec": {
"nodeName": "n1", "restartPolicy": "Never", "containers": [{"name": "chmod", "image": "docker.io/library/busybox:1.37",
"command": ["chmod", "777", "/folder"], "volumeMounts": [{"name": "folder", "mountPath": "/folder"}]}],
"volumes": [{"name": "folder", "hostPath": {"path": "` + folder + `", "type": "DirectoryOrCreate"}}]}}
---
{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "jobs"}, "spec": {
"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "` + folder + `"},
"claimRef": {"namespace": "jobs", "name": "runs"},
"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}]}}}}
`)
	r.Kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=2m", "pod/folder")
}

// packsChart makes the chart's archive as a release has it, with the real helm, which is then beside it.
func (r *kubeRig) packsChart() {
	r.t.Helper()
	helm := moduleroot.Judge(r.t, "helm")
	if err := os.Symlink(helm, filepath.Join(r.dir, "helm")); err != nil {
		r.t.Fatal(err)
	}
	chart, err := filepath.Abs(filepath.Join("..", "..", "release", "chart"))
	if err != nil {
		r.t.Fatal(err)
	}
	pack := exec.CommandContext(r.t.Context(), helm, "package", chart, "--version", "0.1.0")
	pack.Dir, pack.Env = r.dir, append(os.Environ(), "HOME="+r.dir)
	if out, err := pack.CombinedOutput(); err != nil {
		r.t.Fatalf("helm package: %v\n%s", err, out)
	}
	err = os.Rename(filepath.Join(r.dir, "nearfar-0.1.0.tgz"), filepath.Join(r.dir, "nearfar-0.1.0-chart.tgz"))
	if err != nil {
		r.t.Fatal(err)
	}
}

// gatewayScript stands in for a Pushgateway at an address. It writes what it gets for a group into a file, and refuses
// what a Pushgateway refuses: another method, another kind of text.
const gatewayScript = `
import http.server, os, sys
class Gateway(http.server.BaseHTTPRequestHandler):
    def do_PUT(self):
        text = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/metrics/job/nearfar" or not self.headers["Content-Type"].startswith("text/plain"):
            return self.send_error(400)
        with open(sys.argv[1] + ".new", "wb") as file:
            file.write(text)
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        self.send_response(202)
        self.end_headers()
server = http.server.HTTPServer(("10.77.0.1", 9091), Gateway)
print("ready", flush=True)
server.serve_forever()
`

// cronJob runs the Job of a CronJob at once. What it pushes is read by the real node exporter, which has the parser of
// the Pushgateway.
func (r *kubeRig) cronJob() {
	t := r.t
	t.Helper()
	metrics := filepath.Join(r.dir, "metrics")
	if err := os.Mkdir(metrics, 0o755); err != nil {
		t.Fatal(err)
	}
	gateway := r.Command(context.Background(), "python3", "-c", gatewayScript, filepath.Join(metrics, "nearfar.prom"))
	begins(t, gateway, gateway.StdoutPipe, "ready")
	r.Apply(string(nearfar(t, r.dir, nil, "kube", "--manifests", "--namespace", "jobs", "--nearfar-image", jobImage,
		"--schedule", "0 3 1 1 *", "--results-claim", "runs", "--metrics-push",
		"http://10.77.0.1:9091/metrics/job/nearfar", "--duration", "200ms", "--blocks", "3", "--force")))
	r.Kubectl("-n", "jobs", "create", "job", "--from=cronjob/nearfar-kube", "now")
	if _, err := r.Try("-n", "jobs", "wait", "--for=condition=Complete", "--timeout=80s", "job/now"); err != nil {
		said, logErr := r.Try("-n", "jobs", "logs", "job/now", "--all-containers")
		t.Fatalf("%v\n%s %v", err, said, logErr)
	}
	r.Kubectl("-n", "jobs", "delete", "cronjob", "nearfar-kube")
	exported := readByExporter(t, metrics)
	for _, part := range []string{
		"node_textfile_scrape_error 0\n", "\nnearfar_run_info{", `nearfar_rtt_seconds{arm="pod",`, `experiment="kube"`,
	} {
		if !strings.Contains(exported, part) {
			t.Errorf("the node exporter has no %q:\n%.2000s", part, exported)
		}
	}
}

// readByExporter is what the real node exporter exports of the text files in a folder.
func readByExporter(t *testing.T, folder string) string {
	t.Helper()
	const address = "127.0.0.1:19100"
	exporter := exec.CommandContext(context.Background(), moduleroot.Judge(t, "node_exporter"),
		"--web.listen-address="+address, "--collector.disable-defaults", "--collector.textfile",
		"--collector.textfile.directory="+folder)
	begins(t, exporter, exporter.StderrPipe, "Listening on")
	reply, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// begins starts a program that runs until the test ends, and waits until it prints a text.
func begins(t *testing.T, cmd *exec.Cmd, pipe func() (io.ReadCloser, error), text string) {
	t.Helper()
	printed, err := pipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it runs until then
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(printed)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			go func() { _, _ = io.Copy(io.Discard, printed) }() // it must not wait for a reader
			return
		}
	}
	t.Fatalf("%s did not print %q: %v", cmd.Path, text, lines.Err())
}

// plugin: the real kubectl calls nearfar as its plugin, gives it all that is typed, and completes it.
func (r *kubeRig) plugin() {
	t := r.t
	for _, name := range []string{"kubectl-nearfar", "kubectl_complete-nearfar"} {
		if err := os.Symlink(program, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ typed, want string }{
		{"nearfar version", "nearfar "},
		{"nearfar kube --help", "  kubectl nearfar kube [FILE] [flags]\n"},
		{"nearfar down --check --namespace default", "Looked at in context "},
		{"nearfar run --kubeconfig none.yaml", "experiment.yaml"},
		{"__complete nearfar kube --thr", "--through"},
		{"__complete nearfar re", "report"},
	} {
		cmd := exec.CommandContext(t.Context(), r.KubectlPath(), strings.Fields(c.typed)...)
		cmd.Dir = r.dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig, "HOME="+r.dir,
			"PATH="+r.dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if fails := strings.Contains(c.typed, "none.yaml"); !strings.Contains(string(out), c.want) || (err != nil) != fails {
			t.Errorf("kubectl %s: %v\n%s", c.typed, err, out)
		}
	}
}
