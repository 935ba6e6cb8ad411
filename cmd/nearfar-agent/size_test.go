package main

import (
	"testing"

	"nearfar/internal/kits/hostprogram"
)

// TestSize builds the agent for every system on which it runs.
func TestSize(t *testing.T) {
	hostprogram.Size(t, "linux/amd64", "linux/arm64", "windows/amd64")
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
		hostprogram.Imports(t, system, allowed, below)
	}
}
