package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"nearfar/internal/hosts/image"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// makeImages makes the container images: that of nearfar, which has the agent too, and that of the agent. The latter is
// what `nearfar image` of the same version writes.
func (r *release) makeImages() error {
	options := image.Options{Version: r.version, Revision: r.commit}
	for _, s := range binaries.Systems() {
		t := target{s.OS, s.Arch}
		agent, err := os.ReadFile(filepath.Join(r.programs, t.program("nearfar-agent-"+t.String())))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(agent)
		options.Agents = append(options.Agents, binaries.Agent{
			System: s, Content: agent, Hash: hex.EncodeToString(sum[:]),
		})
	}
	if err := r.makeImage(image.Agent, options); err != nil {
		return err
	}
	for _, t := range targets() {
		if t.os != "linux" {
			continue
		}
		program, err := os.ReadFile(filepath.Join(r.programs, "nearfar-"+t.String()))
		if err != nil {
			return err
		}
		options.Programs = append(options.Programs, image.Program{
			System: host.System{OS: t.os, Arch: t.arch}, Content: program,
		})
	}
	return r.makeImage(image.Nearfar, options)
}

// makeImage makes one image as an archive, under the name with which it is loaded.
func (r *release) makeImage(title string, o image.Options) error {
	made, err := image.Make(o)
	if err != nil {
		return err
	}
	tag, err := image.ParseName(image.DefaultName(title, r.version), false)
	if err != nil {
		return err
	}
	name := title + "-" + r.version + "-image.tar"
	out, err := os.OpenFile(filepath.Join(r.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(made.WriteArchive(out, tag), out.Chmod(0o644), out.Close())
}
