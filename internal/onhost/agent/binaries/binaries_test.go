package binaries

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"nearfar/internal/onhost/host"
)

func TestFrom(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("program")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	linux := host.System{OS: "linux", Arch: "amd64"}
	files := fstest.MapFS{
		name(linux): {Data: packed.Bytes()},
		name(host.System{OS: "linux", Arch: "arm64"}): {Data: packed.Bytes()[:packed.Len()-3]},
	}
	a, err := from(files, linux)
	if err != nil || string(a.Content) != "program" || len(a.Hash) != 64 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := from(files, host.System{OS: "linux", Arch: "arm64"}); err == nil {
		t.Error("a cut file is no error")
	}
	if _, err := from(files, host.System{OS: "windows", Arch: "amd64"}); !errors.Is(err, ErrMissing) {
		t.Errorf("a missing agent gives %v", err)
	}
	if _, err := from(files, host.System{OS: "plan9", Arch: "amd64"}); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("a system without an agent gives %v", err)
	}
}

// One agent for Linux is enough, because the host's architecture is not known yet.
func TestLinuxMissing(t *testing.T) {
	var packed bytes.Buffer
	if err := gzip.NewWriter(&packed).Close(); err != nil {
		t.Fatal(err)
	}
	file := &fstest.MapFile{Data: packed.Bytes()}
	arm, windows := name(host.System{OS: "linux", Arch: "arm64"}), name(host.System{OS: "windows", Arch: "amd64"})
	if err := linuxMissing(fstest.MapFS{arm: file}); err != nil {
		t.Errorf("with an agent for arm64: %v", err)
	}
	err := linuxMissing(fstest.MapFS{windows: file})
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make build") {
		t.Errorf("without agents for Linux: %v", err)
	}
}

// TestFor: the agents that were made can be read.
func TestFor(t *testing.T) {
	for _, s := range Systems() {
		a, err := For(s)
		if errors.Is(err, ErrMissing) {
			t.Skipf("%v", err)
		}
		magic := map[string]string{"linux": "\x7fELF", "windows": "MZ"}[s.OS]
		if err != nil || !strings.HasPrefix(string(a.Content), magic) {
			t.Errorf("%v: %d bytes, %v", s, len(a.Content), err)
		}
	}
}
