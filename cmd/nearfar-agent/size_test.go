package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxSize       = 12 << 20
	maxCompressed = 5 << 20
)

// TestSize builds the agent for every system on which it runs. It is copied to hosts, and embedded in nearfar.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs for three systems")
	}
	for _, target := range []string{"linux/amd64", "linux/arm64", "windows/amd64"} {
		system, arch, _ := strings.Cut(target, "/")
		file := filepath.Join(t.TempDir(), "nearfar-agent")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -buildid=", "-o", file, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", target, err, out)
		}
		program, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var compressed bytes.Buffer
		z, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(program); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d KB, compressed %d KB", target, len(program)>>10, compressed.Len()>>10)
		if len(program) > maxSize || compressed.Len() > maxCompressed {
			t.Errorf("%s: %d bytes, compressed %d; at most %d and %d are wanted", target, len(program),
				compressed.Len(), maxSize, maxCompressed)
		}
	}
}

// TestDependencies: the agent consists of what runs on a host. Databases, pages and clients of clouds stay out.
func TestDependencies(t *testing.T) {
	allowed := []string{
		"nearfar/cmd/nearfar-agent", "nearfar/internal/onhost/agent", "nearfar/internal/onhost/agent/allow",
		"nearfar/internal/base/clean", "nearfar/internal/base/hdr", "nearfar/internal/base/lazyregexp",
		"nearfar/internal/base/pcapfile", "nearfar/internal/base/stats", "nearfar/internal/declare/beside",
		"nearfar/internal/declare/check", "nearfar/internal/declare/experiment", "nearfar/internal/declare/inside",
		"nearfar/internal/declare/packets",
		"nearfar/internal/declare/result", "nearfar/internal/onhost/agent/daemon",
		"nearfar/internal/onhost/agent/tls", "nearfar/internal/onhost/agentcli", "nearfar/internal/onhost/capture",
		"nearfar/internal/onhost/children", "nearfar/internal/onhost/confine", "nearfar/internal/onhost/database",
		"nearfar/internal/onhost/engine", "nearfar/internal/onhost/front",
		"nearfar/internal/onhost/host", "nearfar/internal/onhost/hostverbs", "nearfar/internal/onhost/inside",
		"nearfar/internal/onhost/listening",
		"nearfar/internal/onhost/machine", "nearfar/internal/onhost/reach", "nearfar/internal/onhost/supervise",
		"github.com/hashicorp/yamux", "github.com/inconshreveable/mousetrap", "github.com/spf13/cobra",
		"github.com/safchain/ethtool", "github.com/spf13/pflag", "golang.org/x/net/bpf",
	}
	below := []string{
		"nearfar/internal/onhost/engine/", "github.com/HdrHistogram/", "github.com/cilium/ebpf/", "github.com/vishvananda/",
		"golang.org/x/sys/",
		"gonum.org/v1/gonum/",
	}
	for _, system := range []string{"linux", "windows"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(string(out)) {
			first, _, _ := strings.Cut(name, "/")
			if !strings.Contains(first, ".") && first != "nearfar" || slices.Contains(allowed, name) {
				continue // the standard library, or wanted
			}
			if !slices.ContainsFunc(below, func(prefix string) bool { return strings.HasPrefix(name+"/", prefix) }) {
				t.Errorf("%s: the agent imports %s", system, name)
			}
		}
	}
}
