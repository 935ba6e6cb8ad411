//go:build linux

package boottest

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// recordedCloud is the firmware and the metadata of a machine of internal/declare/check/testdata, whose README.md says
// where they are from.
func recordedCloud(t *testing.T, cloud, machine, id string) *Cloud {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("..", "..", "declare", "check", "testdata", machine+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Cloud{Name: cloud, ID: id, Firmware: map[string]string{}, Documents: map[string]string{}}
	for _, file := range archive.Files {
		text := strings.TrimSpace(string(file.Data))
		if name, ok := strings.CutPrefix(file.Name, "sys/class/dmi/id/"); ok {
			c.Firmware[name] = text
		} else if name, ok := strings.CutPrefix(file.Name, "metadata/"); ok {
			c.Documents["/"+name] = text
		}
	}
	return c
}

// program builds nearfar in a folder, with the agents that were made before.
func program(t *testing.T, folder string) string {
	t.Helper()
	file := filepath.Join(folder, "nearfar")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", file, "./cmd/nearfar")
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("no program: %v\n%s", err, out)
	}
	return file
}

// Machines start with the data sources of the clouds: cloud-init finds the cloud by its firmware, asks its metadata
// service for the lab's file, and the machines can be reached, end themselves and measure. nearfar reads there where
// they are.
func TestMachinesOfCloudsStart(t *testing.T) {
	if requested() != "all" {
		t.Skip("it takes minutes: NEARFAR_BOOTS=all runs it")
	}
	nearfar, folder := "", t.TempDir()
	for _, test := range []struct {
		cloud, machine, id, file string
		source                   string
		facts                    map[string]string
	}{
		{
			"azure", "azure-mlx5", "02aab8a4-74ef-476e-8182-f6d2ba4166a6", "azure-ppg/tofu/cloud-init.yaml",
			"DataSourceAzure",
			map[string]string{
				"cloud": "azure", "instance_type": "Standard_D4s_v5", "region": "westeurope", "zone": "2",
				"account": "8d10da13-8125-4ba9-a717-bf7490507b3d",
			},
		},
		{
			"aws", "aws-ena-express", "i-1234567890abcdef0", "ec2-placement-group/tofu/start.sh", "DataSourceEc2Local",
			map[string]string{
				"cloud": "aws", "instance_type": "c7gn.16xlarge", "region": "eu-west-1", "zone": "eu-west-1a",
				"zone_id": "euw1-az3", "placement_group": "perf", "account": "123456789012",
			},
		},
		{
			"gcp", "gcp-gvnic", "2520251811742103616", "gcp-compact-placement/tofu/cloud-init.yaml", "DataSourceGCELocal",
			map[string]string{
				"cloud": "gcp", "instance_type": "a3-ultragpu-8g", "region": "us-central1", "zone": "us-central1-a",
				"account": "perf-tests", "name": "vm",
			},
		},
	} {
		t.Run(test.cloud, func(t *testing.T) {
			network := NewNetwork(t)
			cloud := recordedCloud(t, test.cloud, test.machine, test.id)
			machines := sshMachines(t, network, Image{
				System: "debian", UserData: script(t, test.file, time.Now().Add(4*time.Hour)), Cloud: cloud,
			})
			defer func() {
				if t.Failed() {
					t.Logf("requests:\n%s", strings.Join(network.Requests(), "\n"))
				}
			}()
			for _, m := range machines {
				m.Wait("sshd listens", within, func() bool { return m.Listens(22) })
				t.Logf("%s: sshd listens after %v", m.Address, time.Since(m.Started).Round(time.Second))
			}
			for _, m := range machines {
				m.Wait("cloud-init is done", 3*within, func() bool {
					_, err := m.Run("test", "-e", "/run/cloud-init/result.json")
					return err == nil
				})
				t.Logf("%s: all is done after %v", m.Address, time.Since(m.Started).Round(time.Second))
				if out, err := m.Run("cat", "/run/cloud-init/result.json"); err != nil || !strings.Contains(out, test.source) {
					t.Errorf("the data source is not %s: %v\n%s", test.source, err, out)
				}
				if out, err := m.Run("systemctl", "list-timers", "--no-pager", "nearfar-expires.timer"); err != nil ||
					!strings.Contains(out, "3h 5") {
					t.Errorf("the machine does not end in less than 4 hours: %v\n%s", err, out)
				}
				if strings.HasSuffix(test.file, ".yaml") {
					checkTools(t, m.Machine)
				}
				if test.cloud == "azure" && !network.ReportedReady(m.Machine) {
					t.Error("the machine has not told Azure that it is ready")
				}
			}
			if nearfar == "" {
				nearfar = program(t, folder)
			}
			measure(t, network, machines, nearfar, cloud, test.facts)
		})
	}
}

// measure runs labs/byo-ssh between two machines, and compares what nearfar says of where they are.
func measure(
	t *testing.T, network *Network, machines []sshMachine, nearfar string, cloud *Cloud,
	facts map[string]string,
) {
	t.Helper()
	folder := t.TempDir()
	key, config := filepath.Join(folder, "id"), filepath.Join(folder, "config")
	if err := os.WriteFile(key, []byte(machines[0].private), 0o600); err != nil {
		t.Fatal(err)
	}
	text := sshConfig(machines, cloud.User(), key) + "  UserKnownHostsFile " + filepath.Join(folder, "known") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(argv ...string) []byte {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := network.Command(ctx, append([]string{nearfar}, argv...)...)
		cmd.Dir = folder
		var failed strings.Builder
		cmd.Stderr = &failed
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v\n%s\n%s", argv, err, out, failed.String())
		}
		return out
	}
	lab, err := filepath.Abs(filepath.Join("..", "..", "..", "labs", "byo-ssh", "experiment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	answer := string(run("run", "--ssh-config", config, "--set", "CLIENT=vm-a", "--set", "SERVER=vm-b", lab))
	t.Logf("measured in %v", time.Since(begun).Round(time.Second))
	if !strings.Contains(answer, "rr, rtt p50 in us") || !strings.Contains(answer, "bulk, goodput") {
		t.Errorf("the answer lacks a table:\n%s", answer)
	}
	var checked struct {
		Hosts []struct {
			Host  string
			Facts struct{ Where map[string]any }
		}
	}
	out := run("check", "-f", "json", "--ssh-config", config, "--set", "CLIENT=vm-a", "--set", "SERVER=vm-b", lab)
	if err := json.Unmarshal(out, &checked); err != nil || len(checked.Hosts) != 2 {
		t.Fatalf("check: %v, %d hosts\n%s", err, len(checked.Hosts), out)
	}
	for i, host := range checked.Hosts {
		want := map[string]string{"instance_id": machines[i].CloudID(cloud)}
		maps.Copy(want, facts)
		for key, value := range want {
			if host.Facts.Where[key] != value {
				t.Errorf("%s: %s is %v, want %s", host.Host, key, host.Facts.Where[key], value)
			}
		}
		if host.Facts.Where["problem"] != nil {
			t.Errorf("%s: %v", host.Host, host.Facts.Where["problem"])
		}
	}
}
