// Command release makes what people install, from programs that are built: archives, container images, a chart for
// Helm, packages for Linux, bills of materials, manifests for package managers, release notes, sums, and a statement of
// where all of it comes from. The same programs, texts and commit give the same bytes. scripts/release.sh runs it;
// docs/release.md has the result.
//
//	release make [flags]     makes the folder of a release
//	release check [flags]    checks the folder of a release against its statement
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// nowhere is the place of releases that are published nowhere yet. No name below .invalid ever exists.
const nowhere = "https://nearfar.invalid/releases"

// A release is one version of nearfar, and where it comes from and goes to.
type release struct {
	version string
	// place is the address of all releases: files of this one are at place/download/vVERSION/.
	place string
	// commit is the commit of the sources, and time when it was made: the time of every file.
	commit string
	time   time.Time
	// programs has the built programs, texts the manual pages and completions, and source the sources.
	programs, texts, source string
	// out becomes the folder of the release.
	out string
	// nfpm and cyclonedx are the programs that make packages and bills of materials. Without them, there are none.
	nfpm, cyclonedx string
	// key is a file with the private key that signs the statement; empty for none.
	key string
}

func run(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: release make|check [flags]")
	}
	switch args[0] {
	case "make":
		return runMake(args[1:], stdout)
	case "check":
		return runCheck(args[1:], stdout)
	}
	return fmt.Errorf("there is no release %s", args[0])
}

func runMake(args []string, stdout io.Writer) error {
	r, seconds := release{}, int64(0)
	flags := flag.NewFlagSet("release make", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "the version, `X.Y.Z`")
	flags.StringVar(&r.place, "place", nowhere, "the `address` at which releases are published")
	flags.StringVar(&r.commit, "commit", "", "the commit of the sources")
	flags.Int64Var(&seconds, "time", 0, "when it was made, in `seconds` since 1970")
	flags.StringVar(&r.programs, "programs", "", "the `folder` that scripts/dist.sh wrote")
	flags.StringVar(&r.texts, "texts", "", "the `folder` that release/texts wrote")
	flags.StringVar(&r.source, "source", ".", "the `folder` of the sources")
	flags.StringVar(&r.out, "out", "", "the `folder` to make")
	flags.StringVar(&r.nfpm, "nfpm", "", "the `program` that makes packages")
	flags.StringVar(&r.cyclonedx, "cyclonedx", "", "the `program` that makes bills of materials")
	flags.StringVar(&r.key, "key", "", "a `file` with a private key, with which the statement is signed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r.time, r.place = time.Unix(seconds, 0).UTC(), strings.TrimSuffix(r.place, "/")
	return r.make(stdout)
}

// A target is a system for which there is a release.
type target struct{ os, arch string }

// targets are the systems of all releases, as scripts/dist.sh builds for them.
func targets() []target {
	return []target{
		{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"},
	}
}

func (t target) String() string { return t.os + "-" + t.arch }

// program is the name of a program on the system.
func (t target) program(name string) string {
	if t.os == "windows" {
		return name + ".exe"
	}
	return name
}

// named is the name of a thing of the release: nearfar-VERSION, and what it is.
func (r *release) named(what string) string { return "nearfar-" + r.version + "-" + what }

// archive is the name of a system's archive.
func (r *release) archive(t target) string {
	if t.os == "windows" {
		return r.named(t.String()) + ".zip"
	}
	return r.named(t.String()) + ".tar.gz"
}

// home is the project's page.
func (r *release) home() string { return strings.TrimSuffix(r.place, "/releases") }

// address is where a file of the release is published.
func (r *release) address(file string) string {
	return r.place + "/download/v" + r.version + "/" + file
}

var versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// make makes the folder of the release beside its place, and moves it there when it is whole.
func (r *release) make(stdout io.Writer) error {
	switch {
	case !versionForm.MatchString(r.version):
		return fmt.Errorf("%q is no version: X.Y.Z is meant, or X.Y.Z-rc.1", r.version)
	case !regexp.MustCompile(`^https?://[^\s"']+$`).MatchString(r.place):
		return fmt.Errorf("%q is no address of releases: https://HOST/OWNER/nearfar/releases is meant", r.place)
	case !regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`).MatchString(r.commit):
		return fmt.Errorf("%q is no commit", r.commit)
	}
	if _, err := os.Stat(r.out); err == nil {
		return fmt.Errorf("%s exists: a release is never replaced; remove it first if it was published nowhere", r.out)
	}
	if err := os.MkdirAll(filepath.Dir(r.out), 0o755); err != nil {
		return err
	}
	final := r.out
	made, err := os.MkdirTemp(filepath.Dir(final), ".release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made) }() // after a success, it has another name
	r.out = made
	for _, step := range []func() error{
		r.checkVersion, r.makeArchives, r.copyAgents, r.makeImages, r.makeChart, r.makePackages, r.makeMaterials,
		r.makeInstaller, r.makeManifests, r.makeNotes, r.makeSums, r.makeStatement,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	if err := os.Rename(made, final); err != nil {
		return err
	}
	r.out = final
	return r.describe(stdout)
}

// describe says what was made, and what a publisher must know.
func (r *release) describe(stdout io.Writer) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%11d  %s\n", info.Size(), filepath.Join(r.out, f.Name()))
	}
	if r.place == nowhere {
		fmt.Fprintln(stdout, "the manifests name no real place: PLACE=https://HOST/OWNER/nearfar/releases is one")
	}
	if r.key == "" {
		fmt.Fprintln(stdout, "the statement is unsigned: KEY=FILE signs it")
	}
	return nil
}

// checkVersion checks that the program of this system is the release. The linker says nothing if it could not stamp it.
func (r *release) checkVersion() error {
	here := target{runtime.GOOS, runtime.GOARCH}
	program, err := filepath.Abs(filepath.Join(r.programs, here.program("nearfar-"+here.String())))
	if err != nil {
		return err
	}
	said, err := exec.CommandContext(context.Background(), program, "version").Output()
	if err != nil {
		return fmt.Errorf("%s version: %w", program, err)
	}
	if !strings.HasPrefix(string(said), "nearfar "+r.version+" ") {
		return fmt.Errorf("%s says %q, and not that it is nearfar %s", program, said, r.version)
	}
	return nil
}

// copyAgents copies the agents that nearfar contains, as programs: for hosts on which people place them by hand.
func (r *release) copyAgents() error {
	found, err := filepath.Glob(filepath.Join(r.programs, "nearfar-agent-*"))
	if err != nil {
		return err
	}
	for _, file := range found {
		system := strings.TrimPrefix(filepath.Base(file), "nearfar-agent-")
		if err := r.copied(file, "nearfar-agent-"+r.version+"-"+system, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// copied copies a file into the release.
func (r *release) copied(from, name string, mode os.FileMode) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return r.write(name, content, mode)
}

// write writes a file of the release.
func (r *release) write(name string, content []byte, mode os.FileMode) error {
	file := filepath.Join(r.out, name)
	if err := os.WriteFile(file, content, mode); err != nil {
		return err
	}
	return os.Chmod(file, mode) // whatever the umask is
}

// makeInstaller makes install.sh, which knows where the release is.
func (r *release) makeInstaller() error {
	text, err := os.ReadFile(filepath.Join(r.source, "install.sh"))
	if err != nil {
		return err
	}
	const placeholder = "'@PLACE@'"
	if strings.Count(string(text), placeholder) != 1 {
		return fmt.Errorf("install.sh has not one %s", placeholder)
	}
	if r.place == nowhere {
		return r.write("install.sh", text, 0o755)
	}
	return r.write("install.sh", []byte(strings.Replace(string(text), placeholder, "'"+r.place+"'", 1)), 0o755)
}

// makeNotes makes the release notes: the part of CHANGELOG.md about the version. What is unreleased becomes this one.
func (r *release) makeNotes() error {
	text, err := os.ReadFile(filepath.Join(r.source, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := notesOf(string(text), r.version)
	if err != nil {
		return err
	}
	return r.write("release-notes.md", []byte(notes), 0o644)
}

// notesOf is the part of a change log about a version, or what is unreleased if it has none.
func notesOf(changelog, version string) (string, error) {
	parts := map[string]string{}
	for _, part := range strings.Split("\n"+changelog, "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		name, _, _ := strings.Cut(title, " ")
		parts[strings.Trim(name, "[]")] = strings.TrimSpace(text)
	}
	notes, found := parts[version]
	if !found {
		notes = parts["Unreleased"]
	}
	if notes == "" {
		return "", fmt.Errorf("CHANGELOG.md says nothing of %s, and has nothing unreleased", version)
	}
	return "# nearfar " + version + "\n\n" + notes + "\n", nil
}
