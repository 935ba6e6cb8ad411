package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/runner"
	"nearfar/internal/show/page"
	"nearfar/internal/show/serve"
)

// endPatience is how long open pages may take to fetch the last document after the run has ended by itself.
// interruptPatience is how long they may take after the user has ended it. closePatience is how long responses may
// still take after that: streams of events then end as HTTP demands, and programs such as curl report no error.
const (
	endPatience       = 10 * time.Second
	interruptPatience = 2 * time.Second
	closePatience     = time.Second
)

// watcher serves the live page of a run (--watch).
type watcher struct {
	on     bool
	listen string

	live   []byte
	server *serve.Server
	pages  *serve.Watch
	last   serve.Progress
}

func (w *watcher) flags(f *pflag.FlagSet) {
	f.BoolVar(&w.on, "watch", false, "serve the report on this machine during the run, and print its address")
	listenFlag(f, &w.listen)
}

// listenFlag adds the flag --listen of a verb that serves pages.
func listenFlag(f *pflag.FlagSet, listen *string) {
	f.StringVar(listen, "listen", serve.DefaultAddress,
		"loopback `ADDRESS` and port to serve the pages at; port 0 chooses a free one")
}

// open checks that the program contains the pages, and opens the address, before any host is made. Without --watch it
// does nothing.
func (w *watcher) open(ctx context.Context, dryRun bool) error {
	switch {
	case !w.on:
		return nil
	case dryRun:
		return usagef("--dry-run measures nothing that --watch could show: give only one of them")
	}
	if err := serve.CheckAddress(w.listen); err != nil {
		return usagef("--listen %w", err)
	}
	var err error
	if w.live, err = page.Live(); err != nil {
		return err
	}
	w.server, err = serve.Listen(ctx, w.listen)
	return err
}

// begin serves the run directory and prints the address.
func (w *watcher) begin(p *progress, r *execution.Run) {
	if w.server == nil {
		return
	}
	before, _ := r.Before() // whoever continues a run has read them
	w.pages = serve.NewWatch(w.live, r.Path(), pageSource())
	w.server.Serve(w.pages)
	w.last = serve.Progress{Done: len(before)}
	p.note("watch the run at %s", w.server.URL())
}

// event receives the runner's events. It only notifies the pages, which then fetch the document.
func (w *watcher) event(e runner.Event) {
	if w.pages == nil || e.Trial == nil {
		return
	}
	w.last = serve.Progress{Done: e.Done, Total: e.Total, LeftSeconds: e.Left.Seconds(), State: rundir.Running}
	w.pages.Publish(w.last)
}

// end tells the pages that the run has ended, waits until they have fetched the last document, and closes the address.
// It only prints errors, because the run itself has ended.
func (w *watcher) end(ctx context.Context, stderr io.Writer, r *execution.Run) {
	if w.pages == nil {
		return
	}
	wait := endPatience
	if ctx.Err() != nil {
		ctx, wait = context.WithoutCancel(ctx), interruptPatience
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w.last.LeftSeconds, w.last.State = 0, r.Manifest().State
	w.pages.End(ctx, w.last)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
	defer cancel()
	if err := endServing(closing, w.server); err != nil {
		fmt.Fprintln(stderr, "nearfar:", err)
	}
}

// close closes the address if no run has begun.
func (w *watcher) close() error {
	if w.server == nil || w.pages != nil {
		return nil
	}
	return w.server.Close(context.Background())
}

// endServing closes the server. The error also says if the server had ended by itself before.
func endServing(ctx context.Context, s *serve.Server) error {
	err := s.Close(ctx)
	if ended := <-s.Ended(); !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(fmt.Errorf("the pages were no longer served: %w", ended), err)
	}
	return err
}

// pageSource makes the content of pages from run directories.
func pageSource() serve.Source { return serve.Source{Answer: readAnswer, Document: pageDocument} }

// pageDocument makes the document that the page of a run draws.
func pageDocument(path string) ([]byte, error) {
	a, err := readAnswer(path)
	if err != nil {
		return nil, err
	}
	dir, err := rundir.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := page.Collect(dir, a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(data)
}
