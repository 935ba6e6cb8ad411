//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// A shell is a shell with all programs that install.sh may find.
type shell struct {
	name     string
	argv     []string
	programs map[string]string
}

// base are the programs that install.sh needs in any case.
const base = "awk cp cut df dirname gzip mkdir mktemp mv rm rmdir sed sh tail tar uname"

// shells are the shells with which install.sh is tested, each with what downloads and what computes sums there.
func shells(t *testing.T) []shell {
	t.Helper()
	with := func(others string) map[string]string {
		programs := map[string]string{}
		for name := range strings.FieldsSeq(base + " " + others) {
			programs[name] = need(t, name)
		}
		return programs
	}
	busybox := need(t, "busybox")
	small := map[string]string{}
	for name := range strings.FieldsSeq(base + " wget sha256sum") {
		small[name] = busybox
	}
	return []shell{
		{"sh with curl", []string{need(t, "sh")}, with("curl sha256sum")},
		{"dash with openssl", []string{need(t, "dash")}, with("wget openssl")},
		{"busybox", []string{busybox, "sh"}, small},
	}
}

// need finds a program. It fails the test if the program is missing.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is needed: run scripts/install-tools.sh test", program)
	}
	return path
}

// replacing is the shell with other programs: a script for a name, or none if the script is empty.
func (s shell) replacing(t *testing.T, scripts map[string]string) shell {
	t.Helper()
	s.programs = maps.Clone(s.programs)
	for name, script := range scripts {
		delete(s.programs, name)
		if script != "" {
			s.programs[name] = filepath.Join(t.TempDir(), name)
			save(t, s.programs[name], []byte("#!"+need(t, "sh")+"\n"+script+"\n"), 0o755)
		}
	}
	return s
}

// command is install.sh with arguments, in a home of its own.
func (s shell) command(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	path := t.TempDir()
	for name, program := range s.programs {
		if err := os.Symlink(program, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{path, filepath.Dir(path)} {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs(filepath.Join("..", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	argv := slices.Concat(s.argv, []string{script}, args)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + path, "HOME=" + home, "LC_ALL=C"}
	return cmd
}

// save writes a file and the folders above it.
func save(t *testing.T, file string, content []byte, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, content, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// outcome runs a command, and gives what it prints and its exit code.
func outcome(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// tree lists what is below a folder, with the content of files.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path)
		if err != nil || entry.IsDir() {
			found[name+"/"] = ""
			return err
		}
		content, err := os.ReadFile(path)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// standIn is a program that says which version it is.
func standIn(version string) string {
	return "#!/bin/sh\necho nearfar " + version + " linux/" + runtime.GOARCH + "\n"
}

// archiveName is the name of this system's archive.
func archiveName(version string) string {
	return "nearfar-" + version + "-linux-" + runtime.GOARCH + ".tar.gz"
}

// packed is an archive with a program.
func packed(t *testing.T, version, program string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	name := strings.TrimSuffix(archiveName(version), ".tar.gz") + "/nearfar"
	err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = archive.Write([]byte(program))
	}
	if err := errors.Join(err, archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// sumOf is a line of SHA256SUMS.
func sumOf(content []byte, name string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name)
}

// A site serves releases by their paths, and counts requests.
type site struct {
	*httptest.Server
	files    map[string][]byte
	requests atomic.Int64
}

// newSite serves one release as the latest, and as its version.
func newSite(t *testing.T, version, program string) *site {
	t.Helper()
	s := &site{files: map[string][]byte{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	s.publish(t, version, program)
	return s
}

func (s *site) publish(t *testing.T, version, program string) {
	t.Helper()
	archive := packed(t, version, program)
	sums := sumOf(nil, "nearfar-"+version+"-plan9-mips.tar.gz") + sumOf(archive, archiveName(version))
	for _, folder := range []string{"/latest/download/", "/download/v" + version + "/"} {
		s.files[folder+archiveName(version)] = archive
		s.files[folder+"SHA256SUMS"] = []byte(sums)
	}
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	content, found := s.files[r.URL.Path]
	if !found {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content) // the client may have gone
}

// On each shell: the latest release, again, one version, and from a folder. Nothing but the program is there.
func TestInstall(t *testing.T) {
	t.Parallel()
	for _, s := range shells(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			site, home := newSite(t, "1.2.3", standIn("1.2.3")), t.TempDir()
			program := filepath.Join(home, ".local", "bin", "nearfar")
			wants := func(said, version string, parts ...string) {
				t.Helper()
				now := tree(t, home)
				want := map[string]string{
					"./": "", ".local/": "", ".local/bin/": "", ".local/bin/nearfar": standIn(version),
				}
				if !maps.Equal(now, want) {
					t.Errorf("the home has %q", now)
				}
				for _, part := range append(parts, program+" is nearfar "+version+" for linux-"+runtime.GOARCH) {
					if !strings.Contains(said, part) {
						t.Errorf("install.sh does not say %q:\n%s", part, said)
					}
				}
				if info, err := os.Stat(program); err != nil || info.Mode().Perm() != 0o755 {
					t.Errorf("the program is %v, %v", info, err)
				}
			}
			installs := func(args ...string) string {
				t.Helper()
				said, problems, code := outcome(t, s.command(t, home, args...))
				if code != 0 || problems != "" {
					t.Fatalf("install.sh %q: exit code %d\n%s%s", args, code, said, problems)
				}
				return said
			}
			wants(installs("--from", site.URL), "1.2.3", site.URL+"/latest/download", "is not on your PATH",
				"rm "+program)
			site.publish(t, "1.3.0-rc.1", standIn("1.3.0-rc.1"))
			wants(installs("--from="+site.URL+"/"), "1.3.0-rc.1", "(it replaced 1.2.3)")
			wants(installs("--from", site.URL, "--version", "v1.2.3"), "1.2.3", site.URL+"/download/v1.2.3")

			folder, prefix := t.TempDir(), filepath.Join(t.TempDir(), "a folder", "b")
			archive := packed(t, "1.4.0", standIn("1.4.0"))
			save(t, filepath.Join(folder, archiveName("1.4.0")), archive, 0o644)
			save(t, filepath.Join(folder, "SHA256SUMS"), []byte(sumOf(archive, archiveName("1.4.0"))), 0o644)
			requests := site.requests.Load()
			installs("--from", folder, "--prefix", prefix)
			want := map[string]string{"./": "", "bin/": "", "bin/nearfar": standIn("1.4.0")}
			if now := tree(t, prefix); !maps.Equal(now, want) {
				t.Errorf("the prefix has %q", now)
			}
			if site.requests.Load() != requests {
				t.Error("a folder was not enough")
			}
		})
	}
}

// A failure is a way in which an installation fails.
type failure struct {
	name string
	// breaks changes what the site serves.
	breaks func(t *testing.T, s *site)
	// serve is what the site does instead of serving an archive.
	serve func(w http.ResponseWriter, archive []byte)
	// scripts are other programs of the machine.
	scripts map[string]string
	// want is part of the message.
	want string
}

func failures() []failure {
	archive := "/latest/download/" + archiveName("1.2.3")
	const sums = "/latest/download/SHA256SUMS"
	broken := func(content []byte) func(*testing.T, *site) {
		return func(_ *testing.T, s *site) {
			s.files[archive], s.files[sums] = content, []byte(sumOf(content, archiveName("1.2.3")))
		}
	}
	another := func(version, program string) func(*testing.T, *site) {
		return func(t *testing.T, s *site) { broken(packed(t, version, program))(t, s) }
	}
	return []failure{
		{name: "wrong sum", want: "is not what SHA256SUMS says", breaks: func(t *testing.T, s *site) {
			s.files[archive] = packed(t, "1.2.3", standIn("1.2.3")+"# harmful\n")
		}},
		{name: "half with its length", want: "could not be downloaded",
			serve: func(w http.ResponseWriter, archive []byte) {
				w.Header().Set("Content-Length", fmt.Sprint(len(archive)))
				_, _ = w.Write(archive[:len(archive)/2]) // the client may have gone
				panic(http.ErrAbortHandler)
			}},
		{name: "half without its length", want: "is not what SHA256SUMS says",
			serve: func(w http.ResponseWriter, archive []byte) {
				connection, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				_, _ = connection.Write(append([]byte("HTTP/1.0 200 OK\r\n\r\n"), archive[:len(archive)/2]...))
				_ = connection.Close()
			}},
		{name: "no sums", want: "SHA256SUMS could not be downloaded", breaks: func(_ *testing.T, s *site) {
			delete(s.files, sums)
		}},
		{name: "no archive", want: ".tar.gz could not be downloaded", breaks: func(_ *testing.T, s *site) {
			delete(s.files, archive)
		}},
		{name: "a page instead of sums", want: "has no archive of nearfar for linux-",
			breaks: func(_ *testing.T, s *site) { s.files[sums] = []byte("<html>Log in first</html>\n") }},
		{name: "two versions", want: "has several archives of nearfar", breaks: func(_ *testing.T, s *site) {
			s.files[sums] = append(s.files[sums], sumOf(nil, archiveName("1.2.4"))...)
		}},
		{name: "no archive of the kind", want: "could not be unpacked", breaks: broken([]byte("not compressed"))},
		{name: "no program in it", want: "could not be unpacked", breaks: another("9.9.9", standIn("9.9.9"))},
		{name: "a program that does not run", want: "says nothing", breaks: another("1.2.3", "#!/bin/sh\nexit 7\n")},
		{name: "another version in it", want: "says that it is nearfar 1.0.0",
			breaks: another("1.2.3", standIn("1.0.0"))},
		{name: "another system", want: "there is no nearfar for Haiku",
			scripts: map[string]string{"uname": "echo Haiku"}},
		{name: "another processor", want: "there is no nearfar for riscv64 processors",
			scripts: map[string]string{"uname": `[ "$1" = -m ] && echo riscv64 || echo Linux`}},
		{name: "Windows", want: "windows-amd64.zip", scripts: map[string]string{"uname": "echo MINGW64_NT-10.0"}},
		{name: "no loader", want: "neither curl nor wget is here", scripts: map[string]string{"curl": "", "wget": ""}},
		{name: "no sum", want: "nothing here computes SHA-256",
			scripts: map[string]string{"sha256sum": "", "openssl": ""}},
		{name: "no tar", want: "tar is not here", scripts: map[string]string{"tar": ""}},
		{name: "no gzip", want: "gzip is not here", scripts: map[string]string{"gzip": ""}},
	}
}

// fails runs a command that must fail with one line, and leave what was there as it was.
func fails(t *testing.T, cmd *exec.Cmd, folder, want string) {
	t.Helper()
	before := tree(t, folder)
	said, problems, code := outcome(t, cmd)
	if code != 1 || strings.Count(problems, "\n") != 1 || !strings.HasPrefix(problems, "install.sh: ") ||
		!strings.Contains(problems, want) {
		t.Errorf("exit code %d, want one line with %q:\n%s", code, want, problems)
	}
	if strings.Contains(said, " is nearfar ") {
		t.Errorf("it says that it was installed:\n%s", said)
	}
	if after := tree(t, folder); !maps.Equal(before, after) {
		t.Errorf("there was %q, and is %q", before, after)
	}
}

// Whatever fails, there is one clear line, nothing new, and the program that was there before.
func TestInstallFails(t *testing.T) {
	t.Parallel()
	for _, s := range shells(t) {
		for _, f := range failures() {
			t.Run(s.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				site := newSite(t, "1.2.3", standIn("1.2.3"))
				if f.breaks != nil {
					f.breaks(t, site)
				}
				if f.serve != nil {
					site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if strings.HasSuffix(r.URL.Path, ".tar.gz") {
							f.serve(w, site.files[r.URL.Path])
							return
						}
						site.ServeHTTP(w, r)
					})
				}
				s := s.replacing(t, f.scripts)
				home := t.TempDir()
				fails(t, s.command(t, home, "--from", site.URL), home, f.want)
				save(t, filepath.Join(home, ".local", "bin", "nearfar"), []byte(standIn("1.0.0")), 0o755)
				fails(t, s.command(t, home, "--from", site.URL), home, f.want)
			})
		}
	}
}

// Where nothing may be written, or there is no room, it is said, and nothing is left.
func TestInstallWithoutRoom(t *testing.T) {
	t.Parallel()
	random := make([]byte, 1<<20)
	for i, state := 0, uint32(1); i < len(random); i++ {
		state = state*1664525 + 1013904223
		random[i] = byte(state >> 24)
	}
	site := newSite(t, "1.2.3", standIn("1.2.3")+"exit\n"+string(random))
	zeros := newSite(t, "1.2.3", standIn("1.2.3")+"exit\n"+strings.Repeat("0", 4<<20))
	for _, s := range shells(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			save(t, filepath.Join(folder, "file"), nil, 0o644)
			at := func(prefix, from string) *exec.Cmd {
				return s.command(t, folder, "--from", from, "--prefix", prefix)
			}
			fails(t, at(filepath.Join(folder, "file", "prefix"), site.URL), folder, "/file/prefix/bin cannot be made: ")
			save(t, filepath.Join(folder, "taken", "bin", "nearfar", "file"), nil, 0o644)
			fails(t, at(filepath.Join(folder, "taken"), site.URL), folder, "/taken/bin/nearfar is a folder")

			closed := filepath.Join(folder, "closed")
			save(t, filepath.Join(closed, "bin", "nearfar"), []byte(standIn("1.0.0")), 0o755)
			asNobody(t, folder, func(as *syscall.SysProcAttr) {
				cmd := at(closed, site.URL)
				cmd.SysProcAttr = as
				fails(t, cmd, folder, "nothing can be written to "+closed+"/bin")
			})

			// A disk that has room for nothing, and one that has room for the archive alone.
			for from, want := range map[string]string{
				site.URL: ".tar.gz could not be downloaded: ", zeros.URL: ".tar.gz could not be unpacked to ",
			} {
				disk := filepath.Join(folder, "disk")
				save(t, filepath.Join(disk, "below"), nil, 0o644)
				fails(t, onSmallDisk(at(disk, from), disk), folder, want)
				fails(t, onSmallDisk(at(disk, from), disk), folder, " KiB are free in "+disk+"/bin")
			}
		})
	}
}

// asNobody calls a function with the attributes of a process that may not write to the test's folder.
func asNobody(t *testing.T, folder string, call func(*syscall.SysProcAttr)) {
	t.Helper()
	if os.Getuid() == 0 {
		const nobody = 65534
		for _, readable := range []string{folder, filepath.Dir(folder)} {
			if err := os.Chmod(readable, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		call(&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
		return
	}
	bin := filepath.Join(folder, "closed", "bin")
	if err := os.Chmod(bin, 0o555); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(bin, 0o755) }()
	call(nil)
}

// onSmallDisk runs a command where a folder is a disk of 256 KiB. It says so if the command leaves something there.
func onSmallDisk(cmd *exec.Cmd, folder string) *exec.Cmd {
	const script = `mount -t tmpfs -o size=256k small "$1" && shift && PATH=$path "$@"; code=$?
	[ -z "$(ls -A "$0")" ] || echo "left on the disk: $(ls -A "$0")" >&2
	exit $code`
	user := []string{"--mount"}
	if os.Getuid() != 0 {
		user = []string{"--user", "--map-root-user", "--mount"}
	}
	argv := slices.Concat(user, []string{"--", "sh", "-c", script, folder, folder}, cmd.Args)
	small := exec.Command("unshare", argv...)
	small.Env = append(cmd.Env, "path="+strings.TrimPrefix(cmd.Env[0], "PATH="), "PATH="+os.Getenv("PATH"))
	return small
}

// Of a script that is cut off anywhere, as when a pipe into a shell breaks, nothing runs.
func TestHalfOfTheScript(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(filepath.Join("..", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	site, s := newSite(t, "1.2.3", standIn("1.2.3")), shells(t)[0]
	home := t.TempDir()
	piped := func(script []byte) {
		cmd := s.command(t, home)
		cmd.Args = []string{cmd.Args[0]}
		cmd.Env = append(cmd.Env, "NEARFAR_URL="+site.URL)
		cmd.Stdin = bytes.NewReader(script)
		outcome(t, cmd)
	}
	for cut := 100; cut < len(whole)-len("main \"$@\"\n"); cut += 400 {
		piped(whole[:cut])
	}
	if now := tree(t, home); len(now) != 1 || site.requests.Load() != 0 {
		t.Errorf("half a script did something: %q, %d requests", now, site.requests.Load())
	}
	piped(whole)
	if now := tree(t, home); now[".local/bin/nearfar"] != standIn("1.2.3") {
		t.Errorf("the whole script installs %q", now)
	}
}

// What is wrong in the command line is said, with how to write it.
func TestInstallUsage(t *testing.T) {
	t.Parallel()
	s, home := shells(t)[0], t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "say --from PLACE"},
		{[]string{"--from"}, "--from needs a value"},
		{[]string{"--prefix="}, "--prefix needs a value"},
		{[]string{"--from", "x", "--version", "../1"}, "../1 is no version"},
		{[]string{"now"}, "there is no now"},
	} {
		_, problems, code := outcome(t, s.command(t, home, c.args...))
		if code != 2 || !strings.Contains(problems, "install.sh: "+c.want) && !strings.Contains(problems, c.want) ||
			!strings.Contains(problems, "usage: install.sh") {
			t.Errorf("install.sh %q: exit code %d\n%s", c.args, code, problems)
		}
	}
}
