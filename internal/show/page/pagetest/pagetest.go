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

// patience bounds all waiting for the browser, also on a busy machine.
const patience = 3 * time.Minute

// Browser is a running browser. Its tabs share nothing but the process, so that tests can use them in parallel.
type Browser struct{ ctx context.Context }

// Start starts a browser, which ends with the test. The test fails if no browser is installed, and is skipped with
// -short.
func Start(t *testing.T) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("no browser with -short")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("chromium is needed: install the package chromium, or run scripts/install-tools.sh test")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(patience))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // the first use of the context starts the browser
		t.Fatal(err)
	}
	return &Browser{ctx}
}

// Tab is a page in a browser. It records the messages on its console and its requests.
type Tab struct {
	// Ctx is the context for actions of chromedp on this tab. It ends with the test.
	Ctx context.Context
	mu  sync.Mutex
	// messages are the messages on the console: errors, warnings, exceptions, violations of the security policy.
	messages []string
	requests []string
}

// Open opens an empty tab with a profile of its own. It closes with the test.
func (b *Browser) Open(t *testing.T) *Tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	tab := &Tab{Ctx: ctx}
	if err := chromedp.Listen(ctx, tab.record); err != nil {
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
	return tab
}

// media sets what the system prefers: the features, and no motion. With motion the page scrolls smoothly, and a click
// would miss an element that is still moving.
func media(ctx context.Context, features ...*emulation.MediaFeature) error {
	features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	return err
}

// Scheme sets which colour scheme the system prefers: "light" or "dark".
func (b *Tab) Scheme(t *testing.T, scheme string) {
	t.Helper()
	if err := media(b.Ctx, &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme}); err != nil {
		t.Fatal(err)
	}
}

// record keeps messages and requests from the browser's events.
func (b *Tab) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.messages = append(b.messages, fmt.Sprintf("console %s", e.Type))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.messages = append(b.messages, text)
	case *cdplog.EventEntryAdded:
		b.messages = append(b.messages, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// Show writes a page to a file, opens the file, and waits until the page is drawn. It gives the file's address.
func (b *Tab) Show(t *testing.T, page []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(name, page, 0o644); err != nil {
		t.Fatal(err)
	}
	b.Do(t, chromedp.Navigate("file://"+name), chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
	return "file://" + name
}

// Do runs actions. The test fails if one of them fails.
func (b *Tab) Do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.Ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// Eval gives the value of a JavaScript expression in the page.
func Eval[T any](t *testing.T, b *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.Ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// NoRequests fails the test if there was a message on the console, or any request but the one for the file.
func (b *Tab) NoRequests(t *testing.T, file string) {
	t.Helper()
	b.NoMessages(t)
	_, requests := b.Recorded()
	for _, r := range requests {
		if r != file && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page requested %s", r)
		}
	}
	if len(requests) == 0 {
		t.Error("no request was recorded, not even the one for the file")
	}
}

// NoMessages fails the test if there was a message on the console: errors, exceptions, violations of the security
// policy.
func (b *Tab) NoMessages(t *testing.T) {
	t.Helper()
	messages, _ := b.Recorded()
	for _, m := range messages {
		t.Errorf("the console has: %s", m)
	}
}

// Recorded gives the messages on the console, and the addresses of all requests.
func (b *Tab) Recorded() (messages, requests []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages), slices.Clone(b.requests)
}

// Until waits until a JavaScript expression in the page is true.
func (b *Tab) Until(t *testing.T, expression string) {
	t.Helper()
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](expression)); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// State is what the page reports that it has drawn.
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

// State gives the page's state.
func (b *Tab) State(t *testing.T) State {
	t.Helper()
	var s State
	if err := json.Unmarshal([]byte(Eval[string](t, b, `JSON.stringify(nearfar.state())`)), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Rows opens a section's table and gives the texts of its cells, row by row.
func (b *Tab) Rows(t *testing.T, section string) [][]string {
	t.Helper()
	b.Do(t, chromedp.WaitReady(chromedp.CSS("#"+section)))
	data := "#" + section + " details.data"
	Eval[bool](t, b, fmt.Sprintf(`(document.querySelector(%q).open = true)`, data))
	b.Until(t, fmt.Sprintf(`document.querySelector(%q) !== null`, data+" table")) // made by the event "toggle"
	return Eval[[][]string](t, b, fmt.Sprintf(
		`[...document.querySelectorAll(%q)].map(r => [...r.cells].map(c => c.textContent))`, data+" tbody tr"))
}
