package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The limits of an import. floodTime is CPU time; floodMemory does not count the pages of the program's file. Both hold
// for a file of the greatest size that is read.
const (
	floodTime   = 20 * time.Second
	floodMemory = 400 << 20
	// floodWait is how long a test waits for the program on a busy machine.
	floodWait = 10 * time.Minute
	// floodText is how much an import may print of files that it cannot read, in bytes.
	floodText = 4 << 10
)

// floodsVariable makes the floods run with the greatest sizes that are read.
const floodsVariable = "NEARFAR_FLOODS"

// flood is a file or a folder that nobody should import. make makes it, given the size of its content in bytes.
type flood struct {
	name string
	make func(path string, size int) error
	// says is what the message must have; it always has the file's name. trial says that the file holds a trial that
	// failed.
	says  string
	trial bool
}

// repeated writes a text again and again into a file.
func repeated(text string) func(path string, size int) error {
	return func(path string, size int) error {
		return os.WriteFile(path, bytes.Repeat([]byte(text), size/len(text)), 0o600)
	}
}

const (
	pingHead = "PING 10.0.0.4 (10.0.0.4) 56(84) bytes of data.\n"
	pingLine = "64 bytes from 10.0.0.4: icmp_seq=%d ttl=64 time=0.045 ms\n"
	pingTail = "\n--- 10.0.0.4 ping statistics ---\n1 packets transmitted, 1 received, 0%% packet loss, time 0ms\n" +
		"rtt min/avg/max/mdev = 0.%03[1]d/%[1]d.045/0.045/0.000 ms\n"
)

// numbered writes a text with a number again and again into a file.
func numbered(head, text string) func(path string, size int) error {
	return func(path string, size int) error {
		into := bytes.NewBuffer(make([]byte, 0, size+len(text)))
		into.WriteString(head)
		for i := 1; into.Len() < size-len(text)-10; i++ {
			fmt.Fprintf(into, text, i)
		}
		return os.WriteFile(path, into.Bytes(), 0o600)
	}
}

// floodOfFiles makes a folder of files with this text; size bytes of a flood stand for size/640 files: 64 MiB are 100,000.
func floodOfFiles(text string) func(path string, size int) error {
	return func(path string, size int) error {
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		for i := range size / 640 {
			if err := os.WriteFile(filepath.Join(path, strconv.Itoa(i)), []byte(text), 0o600); err != nil {
				return err
			}
		}
		return nil
	}
}

func floods() []flood {
	const nothing = "no output of"
	return []flood{
		{name: "line", make: repeated("a"), says: nothing},
		{name: "zeros", make: repeated("\x00"), says: "is empty"},
		{name: "empty lines", make: repeated("\n"), says: "is empty"},
		{name: "rules", make: repeated("-\n"), says: nothing},
		{name: "colours", make: repeated("\x1b[0m"), says: "is empty"},
		{name: "no text", make: repeated("\xff"), says: nothing},
		{name: "braces", make: repeated("{"), says: nothing},
		{name: "deep", make: repeated(`{"a":`), says: nothing},
		{name: "deep iperf3", make: func(path string, size int) error {
			return os.WriteFile(path, []byte(`{"start":`+strings.Repeat("[", size-10)), 0o600)
		}, says: "its JSON is cut off", trial: true},
		{name: "documents", make: repeated(`{"start":{}}` + "\n"), says: ""},
		{name: "replies", make: numbered(pingHead, pingLine), says: "ping printed no statistics", trial: true},
		{name: "runs", make: numbered("", pingHead+pingTail), says: ""},
		{name: "500 MB", make: func(path string, _ int) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 500<<20))
		}, says: "larger than 64 MiB"},
		{name: "device", make: func(path string, _ int) error { return os.Symlink("/dev/zero", path) },
			says: "larger than 64 MiB"},
		{name: "loop", make: func(path string, _ int) error { return os.Symlink(path, path) },
			says: "too many levels of symbolic links"},
		{name: "loop in a folder", make: func(path string, _ int) error {
			at := filepath.Join(path, "loop")
			return errors.Join(os.Mkdir(path, 0o700), os.Symlink(at, at))
		}, says: "too many levels of symbolic links"},
		{name: "folder in itself", make: func(path string, _ int) error {
			return errors.Join(os.Mkdir(path, 0o700), os.Symlink(path, filepath.Join(path, "again")))
		}, says: "contains no files"},
		{name: "files", make: floodOfFiles("hello\n"), says: "more files could not be read"},
	}
}

// importFlood runs the program with a folder of its own. It checks CPU time, memory and how much it says, and that no
// run is left.
func importFlood(t *testing.T, dir string, stdin *os.File, args ...string) (said string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), floodWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nearfar", append([]string{"import"}, args...)...)
	peak := filepath.Join(t.TempDir(), "peak")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), peakVariable+"="+peak, "HOME="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if stdin != nil {
		cmd.Stdin = stdin
	}
	_ = cmd.Run() // the exit code is checked by the caller
	if ctx.Err() != nil {
		t.Fatalf("import %q hangs", args)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	memory := ownMemory(t, peak)
	t.Logf("import %q: %v of CPU time, %d MiB", args, used.Round(time.Millisecond), memory>>20)
	if used > floodTime || memory > floodMemory || stderr.Len() > floodText {
		t.Errorf("import %q took %v, %d bytes and printed %d bytes", args, used, memory, stderr.Len())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "runs", "*")); err != nil || cmd.ProcessState.ExitCode() != 0 &&
		len(left) > 0 && !strings.Contains(stderr.String(), "every trial failed") {
		t.Errorf("import %q left %q, %v", args, left, err)
	}
	return stderr.String(), cmd.ProcessState.ExitCode()
}

// TestImportFloods: files that never end, nest without end or come by the thousand end an import soon, in bounded
// memory, with a message that names the file. No run is made of them, except of a tool's run that failed. With
// NEARFAR_FLOODS the files have the greatest size that is read.
func TestImportFloods(t *testing.T) {
	size := 1 << 20
	if os.Getenv(floodsVariable) != "" {
		size = 64 << 20
	}
	for _, f := range append(floods(), floodsOfFormats()...) {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := f.make(filepath.Join(dir, "flood"), size); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"flood"}, {"--run", "x", "--arm", "a=flood", "-o", "answer"}} {
				said, code := importFlood(t, dir, nil, args...)
				wrong := code == 0 && !f.trial && f.says != ""
				if code != 0 {
					wrong = !strings.Contains(said, f.says) || !strings.Contains(said, "flood") && !f.trial
				}
				if wrong || strings.Contains(said, "goroutine ") {
					t.Errorf("import %q: exit code %d, says %.2000q", args, code, said)
				}
			}
		})
	}
}

// TestImportFromPipes: a pipe that never ends is read up to the limit. One that says nothing is waited for, and an
// interrupt ends that at once.
func TestImportFromPipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("endless", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for line := []byte(strings.Repeat("abc ", 1<<14) + "\n"); err == nil; {
				_, err = w.Write(line)
			}
			_ = w.Close()
		}()
		defer func() { _ = r.Close() }()
		if said, code := importFlood(t, dir, r, "-"); code != 1 || !strings.Contains(said, "larger than 64 MiB") {
			t.Errorf("exit code %d, says %q", code, said)
		}
	})
	for _, writer := range []bool{false, true} {
		t.Run(fmt.Sprintf("silent, opened %t", writer), func(t *testing.T) {
			if writer {
				f, err := os.OpenFile(pipe, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = f.Close() }()
			}
			cmd := exec.Command("nearfar", "import", "--run", "x", "--arm", "a=pipe")
			cmd.Dir = dir
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill() }()
			waitsForPipe(t, cmd.Process.Pid)
			asked := time.Now()
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // the exit code is checked
			took := time.Since(asked)
			t.Logf("ended %v after the interrupt", took.Round(time.Millisecond))
			if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "interrupted") {
				t.Errorf("exit code %d, says %q", code, said.String())
			}
		})
	}
}

// waitsForPipe waits until a thread of a process waits for the other end of a pipe (wait_for_partner of the kernel's
// fs/pipe.c), or has it open.
func waitsForPipe(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(floodWait); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			if where, err := os.ReadFile(task); err == nil && bytes.Contains(where, []byte("partner")) {
				return
			}
		}
		open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range open {
			if to, err := os.Readlink(file); err == nil && filepath.Base(to) == "pipe" {
				return
			}
		}
	}
	t.Fatal("the program does not open the pipe")
}
