//go:build linux

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"nearfar/internal/kits/moduleroot"
)

// kubectlStandIn keeps what is applied, and notes all commands. The rollout fails if the file "refuse" is there.
const kubectlStandIn = `#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/commands"
case "$1" in
apply) cat >"$here/applied.yaml" ;;
rollout) [ ! -e "$here/refuse" ] ;;
logs) echo "latte from x has the SHA-256 00" ;;
esac
`

// latte.sh makes objects that Kubernetes knows (its own types read them strictly), and deletes them however it ends.
// The nodes get the hash of the user's download. PowerShell itself does not run here.
func TestAKSLabBringsLatte(t *testing.T) {
	t.Parallel()
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectlStandIn), 0o700); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, _ := os.ReadFile(filepath.Join(bin, name)) // none is empty
		return string(text)
	}
	const hash = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	run := func(code int, environment ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "labs", "aks-accelerated-networking", "latte.sh"))
		cmd.Env = append([]string{"PATH=" + bin + ":" + os.Getenv("PATH")}, environment...)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("exit code %d, want %d (%v)\n%s", got, code, err, out)
		}
		return string(out)
	}
	run(2, "AGENT_IMAGE=r/a:1")
	for _, wrong := range []string{"latest", hash[1:], hash + "0", strings.Replace(hash, "0", "'", 1)} {
		said := run(1, "AGENT_IMAGE=r/a:1", "LATTE_SHA256="+wrong)
		if !strings.Contains(said, "SHA") || read("commands") != "" {
			t.Errorf("with the hash %q it says %q, and calls kubectl: %q", wrong, said, read("commands"))
		}
	}
	run(1, "AGENT_IMAGE=r/a:1'; evil", "LATTE_SHA256="+hash)

	said := run(0, "AGENT_IMAGE=registry.example/agent:1", "LATTE_SHA256="+strings.ToUpper(hash))
	if !strings.Contains(said, "has the SHA-256") {
		t.Errorf("it does not say the hash: %s", said)
	}
	documents := bytes.Split([]byte(read("applied.yaml")), []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("%d objects are applied", len(documents))
	}
	var namespace corev1.Namespace
	var set appsv1.DaemonSet
	for i, into := range []any{&namespace, &set} {
		if err := yaml.UnmarshalStrict(documents[i], into); err != nil {
			t.Fatalf("%v\n%s", err, documents[i])
		}
	}
	pod := set.Spec.Template.Spec
	windows := pod.SecurityContext.WindowsOptions
	if set.Namespace != namespace.Name || pod.NodeSelector["kubernetes.io/os"] != "windows" || !pod.HostNetwork ||
		!*windows.HostProcess || *windows.RunAsUserName != `NT AUTHORITY\SYSTEM` || len(pod.InitContainers) != 1 {
		t.Errorf("the pods are %+v", pod)
	}
	script := pod.InitContainers[0].Command[len(pod.InitContainers[0].Command)-1]
	for _, want := range []string{
		`$ErrorActionPreference = 'Stop'`, `-OutFile C:\tools\latte.new`, `if ($hash -ne '` + hash + `')`,
		`Move-Item -Force C:\tools\latte.new C:\tools\latte.exe`,
		`-Uri 'https://github.com/microsoft/latte/releases/download/v0/latte.exe'`,
	} {
		if !strings.Contains(script, want) {
			t.Errorf("the script has no %q:\n%s", want, script)
		}
	}
	if strings.Contains(script, `\\`) {
		t.Errorf("the script has two backslashes:\n%s", script)
	}

	if err := os.WriteFile(filepath.Join(bin, "refuse"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(1, "AGENT_IMAGE=r/a:1", "LATTE_SHA256="+hash)
	if deleted := strings.Count(read("commands"), "delete namespace nearfar-latte"); deleted != 2 {
		t.Errorf("the namespace is deleted %d times:\n%s", deleted, read("commands"))
	}
}
