//go:build linux

// Package pagetest opens the HTML report in a real browser, for tests.
package pagetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds everything that waits for the browser; a busy machine takes its time.
const patience = 3 * time.Minute

// Tab is a browser with one page, and what went on in it.
type Tab struct {
	// Ctx is that of the page, for actions of chromedp. It ends with the test.
	Ctx context.Context
	mu  sync.Mutex
	// complaints are what the console got: errors, warnings, exceptions, violations of the policy.
	complaints []string
	requests   []string
}

// Open starts a browser. The test fails where there is none.
func Open(t *testing.T) *Tab {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("chromium is needed: install the package chromium, or run scripts/install-tools.sh test")
	}
	profile := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(patience))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Tab{Ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	for _, enable := range []func() error{
		func() error { _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); return err },
		func() error { _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); return err },
		func() error { return chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)) },
		func() error { return media(ctx) },
	} {
		if err := enable(); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// media has the system wish for what the features say, and for no motion: the page else scrolls smoothly, and a pointer that
// goes where something was misses it.
func media(ctx context.Context, features ...*emulation.MediaFeature) error {
	features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	return err
}

// Scheme has the system wish for "light" or "dark".
func (b *Tab) Scheme(t *testing.T, scheme string) {
	t.Helper()
	if err := media(b.Ctx, &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}); err != nil {
		t.Fatal(err)
	}
}

// hear takes down what the browser says.
func (b *Tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprintf("console %s", e.Type))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.complaints = append(b.complaints, text)
	case *cdplog.EventEntryAdded:
		b.complaints = append(b.complaints, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// Show writes a page to a file, opens that from disk, and waits until all is drawn. It gives the address.
func (b *Tab) Show(t *testing.T, page []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(name, page, 0o644); err != nil {
		t.Fatal(err)
	}
	b.Do(t, chromedp.Navigate("file://"+name), chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
	return "file://" + name
}

// Do carries out steps, and fails the test where one does not work.
func (b *Tab) Do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.Ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// Eval gives the value of an expression in the page.
func Eval[T any](t *testing.T, b *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.Ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Quiet fails the test where the console has anything, or anything was asked for beside the file.
func (b *Tab) Quiet(t *testing.T, file string) {
	t.Helper()
	b.Silent(t)
	_, requests := b.Heard()
	for _, r := range requests {
		if r != file && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asked for %s", r)
		}
	}
	if len(requests) == 0 {
		t.Error("no request was seen, not even that of the file")
	}
}

// Silent fails the test where the console has anything: messages, exceptions, violations of the security policy.
func (b *Tab) Silent(t *testing.T) {
	t.Helper()
	complaints, _ := b.Heard()
	for _, c := range complaints {
		t.Errorf("the console has: %s", c)
	}
}

// Heard gives what the console has, and what was asked for.
func (b *Tab) Heard() (complaints, requests []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.complaints), slices.Clone(b.requests)
}

// State is what the page says that it has drawn.
type State struct {
	Workload string
	Quantity struct{ Metric, Stat string }
	Hidden   []string
	ShownAt  float64
	Charts   []struct {
		ID     string
		Zoomed bool
		Series []struct {
			Name   string
			Points []struct {
				X, Y      float64
				Low, High *float64
				From      *float64
				At        [2]float64
			}
		}
	}
}

// State reads it.
func (b *Tab) State(t *testing.T) State {
	t.Helper()
	var s State
	if err := json.Unmarshal([]byte(Eval[string](t, b, `JSON.stringify(nearfar.state())`)), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Rows are the texts of a section's table, opened if it is not.
func (b *Tab) Rows(t *testing.T, section string) [][]string {
	t.Helper()
	b.Do(t, chromedp.WaitReady(chromedp.CSS("#"+section)))
	Eval[bool](t, b, fmt.Sprintf(`(document.querySelector("#%s details.data").open = true)`, section))
	// The table is made in the event that follows.
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](fmt.Sprintf(`document.querySelector("#%s details.data table") !== null`, section))); err != nil {
		t.Fatal(err)
	}
	return Eval[[][]string](t, b, fmt.Sprintf(`[...document.querySelectorAll("#%s details.data tbody tr")].map(r => [...r.cells].map(c => c.textContent))`, section))
}
