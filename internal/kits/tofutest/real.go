package tofutest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/kits/moduleroot"
)

// Folder names the variable with the folder of real providers that `make providers` prints. Without it, tests with real
// providers are skipped: they take minutes.
const Folder = "NEARFAR_PROVIDERS"

// Real is a real provider, such as hashicorp/azurerm, in the version that the labs use.
type Real struct {
	t testing.TB
	// Kind is the provider's name, Version its version.
	Kind, Version string
	// config is the configuration of OpenTofu that has the provider, programs the folder with OpenTofu.
	config, programs string
}

// NewReal finds the real provider whose stand-in has this name. It skips the test if there is none.
func NewReal(t testing.TB, kind string) *Real {
	t.Helper()
	mirror := os.Getenv(Folder)
	if mirror == "" {
		t.Skipf("%s is not set: `make providers` prints the folder of the real providers", Folder)
	}
	programs, _, err := built()
	if err != nil {
		t.Fatalf("%v; scripts/opentofu.sh builds it", err)
	}
	versions, err := Versions()
	if err != nil {
		t.Fatal(err)
	}
	version := versions[kind]
	if version == "" {
		t.Fatalf("%s has no stand-in", kind)
	}
	found, err := filepath.Glob(filepath.Join(mirror, "*", "hashicorp", kind, version,
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-"+kind+"*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Skipf("hashicorp/%s %s is not in %s: `make providers PROVIDERS=%[1]s` downloads it", kind, version, mirror)
	}
	r := &Real{t: t, Kind: kind, Version: version, config: filepath.Join(t.TempDir(), "tofu.rc"),
		programs: programs}
	text := fmt.Sprintf("provider_installation {\n  filesystem_mirror { path = %q }\n}\n", mirror)
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// Env is the environment with which OpenTofu finds the provider, as NAME=VALUE.
func (r *Real) Env() []string {
	return []string{"TF_CLI_CONFIG_FILE=" + r.config, "CHECKPOINT_DISABLE=1"}
}

// Labs are the names of the labs whose modules use the provider.
func (r *Real) Labs() (names []string) {
	r.t.Helper()
	root, err := moduleroot.Find()
	if err != nil {
		r.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "labs", "*", "tofu", "*.tf"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			r.t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(filepath.Dir(file)))
		if strings.Contains(string(text), `"hashicorp/`+r.Kind+`"`) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		r.t.Fatalf("no lab uses hashicorp/%s", r.Kind)
	}
	return names
}

// A RealModule is a copy of a lab's module that uses a real provider.
type RealModule struct {
	t      testing.TB
	folder string
	tofu   string
	env    []string
}

// Module copies the module of a lab and installs the provider there. env has the provider's settings and the module's
// variables (TF_VAR_...), as NAME=VALUE. Credentials and settings of the user are not passed on.
func (r *Real) Module(t testing.TB, lab string, env ...string) *RealModule {
	t.Helper()
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	m := &RealModule{t: t, folder: filepath.Join(t.TempDir(), lab), tofu: filepath.Join(r.programs, "tofu")}
	if err := os.CopyFS(m.folder, os.DirFS(filepath.Join(root, "labs", lab, "tofu"))); err != nil {
		t.Fatal(err)
	}
	// A copy of the tree in which somebody has worked has what `tofu init` leaves.
	if err := os.RemoveAll(filepath.Join(m.folder, ".terraform")); err != nil {
		t.Fatal(err)
	}
	for _, one := range os.Environ() {
		name, _, _ := strings.Cut(one, "=")
		if !slices.ContainsFunc([]string{"ARM_", "AWS_", "AZURE_", "GOOGLE_", "CLOUDSDK_", "TF_"}, func(p string) bool {
			return strings.HasPrefix(name, p)
		}) {
			m.env = append(m.env, one)
		}
	}
	m.env = slices.Concat(m.env, r.Env(), []string{"TF_IN_AUTOMATION=1", "HOME=" + t.TempDir()}, env)
	m.Must("init", "-input=false")
	return m
}

// Tofu runs OpenTofu in the module, and gives what it printed. The test's log says how long it took.
func (m *RealModule) Tofu(args ...string) (printed string, err error) {
	m.t.Helper()
	began := time.Now()
	defer func() { m.t.Logf("tofu %s: %.1f s", args[0], time.Since(began).Seconds()) }()
	cmd := exec.CommandContext(m.t.Context(), m.tofu, args...)
	cmd.Dir, cmd.Env = m.folder, m.env
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return string(out), err
}

// Must runs OpenTofu, and fails the test if it fails.
func (m *RealModule) Must(args ...string) string {
	m.t.Helper()
	printed, err := m.Tofu(args...)
	if err != nil {
		m.t.Fatalf("tofu %s: %v\n%s", strings.Join(args, " "), err, printed)
	}
	return printed
}

// Output runs OpenTofu, and gives what it wrote to its standard output alone.
func (m *RealModule) Output(args ...string) []byte {
	m.t.Helper()
	return m.Run(m.tofu, args...)
}

// Run runs a program in the module and in its environment, and gives what it wrote to its standard output.
func (m *RealModule) Run(program string, args ...string) []byte {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), program, args...)
	cmd.Dir, cmd.Env = m.folder, m.env
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, said.String())
	}
	return out
}

// Variables are values of the labs' variables, as NAME=VALUE of an environment. A real provider reads the key.
func Variables(run string) []string {
	return []string{
		"TF_VAR_public_key=" + PublicKey, "TF_VAR_ssh_from=203.0.113.7/32", "TF_VAR_project=nearfar-test",
		"TF_VAR_admin_password=CANARY-Password-1!", "TF_VAR_latte_sha256=" + strings.Repeat("0123456789abcdef", 4),
		"TF_VAR_nearfar_owner=me@here", "TF_VAR_nearfar_run=" + run,
		"TF_VAR_nearfar_expires=2030-11-21T19:22:00Z",
	}
}

// PublicKey is a public key for ssh, whose 32 bytes are a text: nobody has a private key for it.
const PublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG5lYXJmYXIgdGVzdHMsIG5vdCBhIGtleSBvZiBhbnli me@here"
