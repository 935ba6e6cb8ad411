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

	"nearfar/internal/page"
	"nearfar/internal/rundir"
	"nearfar/internal/runner"
	"nearfar/internal/serve"
)

// lingering is how long pages that are open may take to fetch what they need to show the end, where the run ended by itself;
// hurried is how long where the user ended it.
const (
	lingering = 10 * time.Second
	hurried   = 2 * time.Second
)

// watcher serves the live page of a run that goes on, where --watch asks for it.
type watcher struct {
	on     bool
	listen string

	live   []byte
	server *serve.Server
	pages  *serve.Watch
	last   serve.Progress
}

func (w *watcher) flags(f *pflag.FlagSet) {
	f.BoolVar(&w.on, "watch", false, "serve the report on this machine while the run goes on, and print its address")
	listenFlag(f, &w.listen)
}

// listenFlag is the flag of whatever serves pages.
func listenFlag(f *pflag.FlagSet, listen *string) {
	f.StringVar(listen, "listen", serve.DefaultAddress, "loopback `ADDRESS` and port to serve the pages at; port 0 picks one")
}

// open sees before anything is made that the pages are there and the address is free. Where --watch was not given it does nothing.
func (w *watcher) open(ctx context.Context, f *pflag.FlagSet, dryRun bool) error {
	switch {
	case !w.on && f.Changed("listen"):
		return &usageError{errors.New("--listen says where --watch serves its page: give both")}
	case !w.on:
		return nil
	case dryRun:
		return &usageError{errors.New("--dry-run measures nothing that --watch could show: give one of them")}
	}
	if err := serve.CheckAddress(w.listen); err != nil {
		return &usageError{fmt.Errorf("--listen %w", err)}
	}
	var err error
	if w.live, err = page.Live(); err != nil {
		return err
	}
	w.server, err = serve.Listen(ctx, w.listen)
	return err
}

// begin serves the run directory and says where.
func (w *watcher) begin(s *setup, dir *rundir.Dir, done int) {
	if w.server == nil {
		return
	}
	w.pages = serve.NewWatch(w.live, dir.Path, pageSource())
	w.server.Serve(w.pages)
	w.last = serve.Progress{Done: done}
	s.watch = w
	s.progress.note("watch the run at %s", w.server.URL())
}

// event follows the runner. It only says that there is something new: the pages fetch it when they like.
func (w *watcher) event(e runner.Event) {
	if w == nil || e.Trial == nil {
		return
	}
	w.last = serve.Progress{Done: e.Done, Total: e.Total, LeftSeconds: e.Left.Seconds(), State: rundir.Running}
	w.pages.Publish(w.last)
}

// end tells the pages how the run has ended, lets them take it, and gives the address up. What goes wrong with it is said and
// changes nothing: the run is over.
func (w *watcher) end(ctx context.Context, stderr io.Writer, dir *rundir.Dir) {
	if w.pages == nil {
		return
	}
	wait := lingering
	if ctx.Err() != nil {
		ctx, wait = context.WithoutCancel(ctx), hurried
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w.last.LeftSeconds, w.last.State = 0, dir.Manifest().State
	w.pages.End(ctx, w.last)
	if err := endServing(ctx, w.server); err != nil {
		fmt.Fprintln(stderr, "nearfar:", err)
	}
}

// close gives the address up where no run has begun.
func (w *watcher) close() error {
	if w.server == nil || w.pages != nil {
		return nil
	}
	return w.server.Close(context.Background())
}

// endServing closes the server, and says so where it had ended by itself before.
func endServing(ctx context.Context, s *serve.Server) error {
	err := s.Close(ctx)
	if ended := <-s.Ended(); !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(fmt.Errorf("the pages were no longer served: %w", ended), err)
	}
	return err
}

// pageSource is where the pages get their content: the run directories.
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
