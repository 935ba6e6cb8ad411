package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"nearfar/internal/declare/rundir"
)

const (
	// fresh is how long a listing of the folder is used, and how often the folder is read for a page that receives
	// events.
	fresh = time.Second
	// maxContents is how many documents of pages are kept in memory.
	maxContents = 8
)

// Folder serves the pages of all runs of a folder: the list at "/" (its data at "/runs.json", "/summaries.json" and
// "/history.json"), the page of each run at "/run/ID/", and of two runs at "/compare/ID/ID/". The folder is read again
// whenever a listing is older than a second, so that new runs appear.
type Folder struct {
	path   string
	root   *os.Root
	source Source
	browse document
	live   document
	every  time.Duration

	mu      sync.Mutex // protects the listing and runs
	listed  time.Time  // when the folder was read
	listing Listing
	// runs has the run directories by id.
	runs map[string]*known

	// work is held while an answer or a document is made: one at a time is enough for one user. It protects contents
	// and figures.
	work     sync.Mutex
	contents []content
	figures  map[string]kept
}

// known is a run directory with its line in the list. manifest is nil if the run cannot be read.
type known struct {
	place    place
	run      Run
	manifest *rundir.Manifest
}

// content is the document that the page of a run draws.
type content struct {
	id    string
	stamp stamp
	json  []byte
}

// NewFolder serves the runs in and below the folder with the pages that page.Browse and page.Live return.
func NewFolder(browse, live []byte, folder string, source Source) (*Folder, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	f := &Folder{
		path: folder, root: root, source: source, browse: newDocument(browse), live: newDocument(live), every: fresh,
		runs: map[string]*known{}, figures: map[string]kept{},
	}
	if _, err := f.list(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Runs returns the number of run directories.
func (f *Folder) Runs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.listing.Runs)
}

func (f *Folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		f.browse.write(w, r)
	case "/runs.json":
		listing, err := f.list()
		f.writeDocument(w, r, listing, err)
	case "/history.json":
		history, err := f.history(readHistoryQuery(r))
		f.writeDocument(w, r, history, err)
	case "/summaries.json":
		summaries, err := f.summaries(r)
		f.writeDocument(w, r, summaries, err)
	case "/events":
		f.follow(w, r, "runs", func() string { return f.fingerprint() })
	default:
		if rest, ok := strings.CutPrefix(r.URL.Path, "/compare/"); ok {
			f.serveComparison(w, r, rest)
			return
		}
		id, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/run/"), "/")
		k, ok := f.find(id)
		if !ok || !strings.HasPrefix(r.URL.Path, "/run/"+id+"/") {
			refuse(w, http.StatusNotFound, "there is no such page")
			return
		}
		f.serveRun(w, r, k, what)
	}
}

func (f *Folder) serveRun(w http.ResponseWriter, r *http.Request, k known, what string) {
	switch what {
	case "":
		f.live.write(w, r)
	case "data.json":
		made, err := f.content(k.place)
		writeJSON(w, r, made, err)
	case "events":
		if k.run.State != rundir.Running { // after this status the page does not connect again
			w.WriteHeader(http.StatusNoContent)
			return
		}
		f.follow(w, r, "trial", func() string { return fmt.Sprint(look(f.root, k.place.path).stamp) })
	default:
		refuse(w, http.StatusNotFound, "there is no such page")
	}
}

func (f *Folder) writeDocument(w http.ResponseWriter, r *http.Request, v any, err error) {
	var data []byte
	if err == nil {
		data, err = json.Marshal(v)
	}
	writeJSON(w, r, data, err)
}

// follow sends one page an event whenever the state has changed.
func (f *Folder) follow(w http.ResponseWriter, r *http.Request, name string, state func() string) {
	events := make(chan event, 1)
	last := state() // before the stream begins: the page fetches its data once it has begun
	go func() {
		tick := time.NewTicker(f.every)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
			}
			now := state()
			if now == last {
				continue
			}
			last = now
			select {
			case events <- event{name, nil}:
			default: // the same event is waiting already
			}
		}
	}()
	stream(w, r, events)
}

// list returns the runs, newest first. It reads the folder again if the last listing is older than f.every.
func (f *Folder) list() (Listing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.listed) < f.every {
		return f.listing, nil
	}
	places, cut, err := scan(f.root)
	if err != nil {
		return Listing{}, fmt.Errorf("the folder cannot be read: %w", err)
	}
	runs := map[string]*known{}
	listing := Listing{Nearfar: "v1", Folder: f.path, Runs: []Run{}, Cut: cut}
	for _, p := range places {
		k, ok := f.runs[p.id]
		if !ok || k.place.stamp != p.stamp || k.run.Error != "" {
			k = &known{place: p}
			k.run, k.manifest = describe(f.root, f.path, p)
		}
		runs[p.id] = k
		listing.Runs = append(listing.Runs, k.run)
	}
	slices.SortStableFunc(listing.Runs, func(a, b Run) int { return b.when().Compare(a.when()) })
	f.listed, f.listing, f.runs = time.Now(), listing, runs
	return listing, nil
}

// when returns the time by which the list is sorted.
func (r Run) when() time.Time {
	if r.Started.IsZero() {
		return r.Changed
	}
	return r.Started
}

// fingerprint changes when the list does.
func (f *Folder) fingerprint() string {
	listing, err := f.list()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range listing.Runs {
		fmt.Fprintln(&b, r.ID, r.State, r.Trials, r.Error, r.Changed.UnixNano())
	}
	return b.String()
}

// find returns the run with the id. It updates the listing first, because the run may be new.
func (f *Folder) find(id string) (known, bool) {
	if _, err := f.list(); err != nil {
		return known{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k, ok := f.runs[id]
	if !ok {
		return known{}, false
	}
	return *k, true
}

// content returns the document that the page of a run draws. It makes a new one only if the run's files have changed.
func (f *Folder) content(p place) ([]byte, error) {
	f.work.Lock()
	defer f.work.Unlock()
	now := look(f.root, p.path) // before reading, so that a change during the reading is noticed next time
	if now.broken != nil {
		return nil, now.broken
	}
	i := slices.IndexFunc(f.contents, func(c content) bool { return c.id == p.id })
	if i >= 0 && f.contents[i].stamp == now.stamp {
		return f.contents[i].json, nil
	}
	if i >= 0 {
		f.contents = slices.Delete(f.contents, i, i+1)
	}
	if err := safe(f.root, p.path); err != nil {
		return nil, err
	}
	made, err := f.source.Document(filepathOf(f.path, p.path))
	if err != nil {
		return nil, err
	}
	if len(f.contents) == maxContents {
		f.contents = slices.Delete(f.contents, 0, 1)
	}
	f.contents = append(f.contents, content{p.id, now.stamp, made})
	return made, nil
}

// filepathOf returns the path of a run for system calls.
func filepathOf(folder, run string) string { return filepath.Join(folder, filepath.FromSlash(run)) }
