package main

import (
	"testing"

	"nearfar/internal/kits/hostprogram"
)

// TestSize builds the front for every system on which it runs.
func TestSize(t *testing.T) {
	hostprogram.Size(t, "linux/amd64", "linux/arm64")
}

// TestDependencies: the front has a client of PostgreSQL, and of nearfar only what counts and what is exchanged.
func TestDependencies(t *testing.T) {
	allowed := []string{
		"nearfar/cmd/nearfar-front", "nearfar/internal/onhost/front", "nearfar/internal/onhost/front/pages",
	}
	below := []string{
		"nearfar/internal/base/", "nearfar/internal/declare/", "nearfar/internal/onhost/engine/",
		"github.com/HdrHistogram/", "github.com/jackc/", "github.com/safchain/", "github.com/vishvananda/",
		"golang.org/x/sys/", "golang.org/x/text/", "gonum.org/v1/gonum/",
	}
	hostprogram.Imports(t, "linux", allowed, below)
}
