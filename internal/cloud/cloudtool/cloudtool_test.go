//go:build unix

package cloudtool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program puts a script on PATH and returns its name.
func program(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cloud"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return "cloud"
}

func TestRun(t *testing.T) {
	out, err := Run(t.Context(), 100, program(t, `echo "$2"; cat; echo pager "$AWS_PAGER"`), "vm", "a b")
	if err != nil || string(out) != "a b\npager \n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunThatFails(t *testing.T) {
	_, err := Run(t.Context(), 100, program(t, "printf 'no \\033[31mlogin\\nat all' >&2; exit 3"), "vm")
	failed, ok := errors.AsType[*FailedError](err)
	if !ok || strings.Contains(err.Error(), "\x1b") || !strings.Contains(failed.Said, "login") ||
		err.Error() != "exit status 3: "+failed.Said {
		t.Errorf("%q", err)
	}
}

func TestRunThatPrintsTooMuch(t *testing.T) {
	if out, err := Run(t.Context(), 100, program(t, "seq 1000")); err == nil || out != nil {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestRunOfNothing(t *testing.T) {
	if _, err := Run(t.Context(), 100, "no-such-program-of-a-cloud"); !Missing(err) {
		t.Errorf("%v", err)
	}
}

// A program ends with all that it started.
func TestRunCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "child")
	name := program(t, "sleep 1000 & echo $! >"+file+".part; mv "+file+".part "+file+"; wait")
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, 100, name)
		ended <- err
	}()
	var child int
	within(t, "it starts", func() bool {
		text, err := os.ReadFile(file)
		if err == nil {
			child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	within(t, "its child ends", func() bool {
		// A killed child that nobody has waited for yet is a zombie.
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		return errors.Is(syscall.Kill(child, 0), syscall.ESRCH) || err == nil && strings.Contains(string(status), ") Z ")
	})
}

// within waits for a condition.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestName(t *testing.T) {
	for want, argv := range map[string][]string{
		"az vm show": {"az", "vm", "show", "--name", "x"}, "gcloud": {"gcloud"}, "": {"--help"},
	} {
		if got := Name(argv...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
