package pool

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/files"
)

// A Step is what a migration does next.
type Step string

// The steps, in their order. Undo has steps of its own.
const (
	AddPool   Step = "add-pool"
	WaitNodes Step = "wait-for-nodes"
	CheckPool Step = "check-new-pool"
	Cordon    Step = "cordon"
	Drain     Step = "drain"
	CheckOld  Step = "check-old-pool"
	AskDelete Step = "ask-to-delete-old-pool"
	DeleteOld Step = "delete-old-pool"
	Done      Step = "done"

	UndoUncordon Step = "undo-uncordon"
	UndoCordon   Step = "undo-cordon"
	UndoDrain    Step = "undo-drain"
	UndoCheck    Step = "undo-check"
	UndoAsk      Step = "undo-ask-to-delete-new-pool"
	UndoDelete   Step = "undo-delete-new-pool"
	Undone       Step = "undone"
)

// Steps lists the steps of a migration. A migration without a provider adds no pool, and one that keeps the old pool
// deletes none.
func (s *State) Steps() []Step {
	if s.Undo {
		if !s.New.Made {
			return []Step{UndoUncordon, Undone}
		}
		return []Step{UndoUncordon, UndoCordon, UndoDrain, UndoCheck, UndoAsk, UndoDelete, Undone}
	}
	steps := []Step{WaitNodes, CheckPool, Cordon, Drain, CheckOld}
	if s.New.Made {
		steps = slices.Insert(steps, 0, AddPool)
	}
	if !s.KeepOld {
		steps = append(steps, AskDelete, DeleteOld)
	}
	return append(steps, Done)
}

// next is the step after the current one.
func (s *State) next() Step {
	steps := s.Steps()
	return steps[slices.Index(steps, s.Step)+1]
}

// Over says that nothing is left to do.
func (s *State) Over() bool { return s.Step == Done || s.Step == Undone }

// A Side is one of the two pools.
type Side struct {
	// Pool is the provider's name of the pool; empty if the pool is known by its selector alone.
	Pool string `json:"pool,omitempty"`
	// Selector finds the nodes of the pool.
	Selector string `json:"selector"`
	// Made says that the migration makes this pool, so that undo may delete it.
	Made bool `json:"made,omitempty"`
}

// String is how messages name the pool.
func (s Side) String() string {
	if s.Pool != "" {
		return "pool " + s.Pool
	}
	return "the nodes with " + s.Selector
}

// A Node is a node of a pool that is emptied.
type Node struct {
	Name string `json:"name"`
	// CordonedBefore says that the node was cordoned before the migration. Undo leaves it cordoned.
	CordonedBefore bool `json:"cordoned_before,omitempty"`
	// Drained says that the node was emptied, and that the workloads were ready again after it.
	Drained bool `json:"drained,omitempty"`
}

// State is all that a migration needs to continue after a crash.
type State struct {
	Nearfar string `json:"nearfar"`
	// ID marks the pool that the migration makes.
	ID      string    `json:"id"`
	Begun   time.Time `json:"begun"`
	Changed time.Time `json:"changed"`
	// Context and ClusterUID say which cluster it is. ClusterUID is the UID of the namespace kube-system; it is empty
	// if the user may not read it.
	Context    string `json:"context"`
	ClusterUID string `json:"cluster_uid,omitempty"`

	Old     Side `json:"old"`
	New     Side `json:"new"`
	KeepOld bool `json:"keep_old,omitempty"`
	// Provider is what the provider needs; this package does not read it.
	Provider json.RawMessage `json:"provider,omitempty"`
	Limits   Limits          `json:"limits"`
	Consent  Consent         `json:"consent"`
	// GracePeriod is in seconds; negative for the pods' own.
	GracePeriod int `json:"grace_period_seconds"`

	// Asked is when the provider was asked for the new pool; zero before, and after the provider has answered.
	Asked time.Time `json:"asked,omitzero"`
	Undo  bool      `json:"undo,omitempty"`
	// Step is the current step, or the next one: it is written before the step begins.
	Step Step `json:"step"`
	// Nodes are the nodes of the old pool, and NewNodes those of the new pool once undo empties it.
	Nodes    []Node `json:"nodes,omitempty"`
	NewNodes []Node `json:"new_nodes,omitempty"`
	// Workloads are the workloads that had pods on the old pool, with their numbers of ready replicas at that time.
	Workloads []Workload `json:"workloads,omitempty"`
	// Findings are the findings about the new pool's accelerated networking.
	Findings []Finding `json:"findings,omitempty"`
}

// NewState begins a migration. ID and times are set; the step is set by Begin.
func NewState(now time.Time) *State {
	return &State{
		Nearfar: "v1", ID: strings.ToLower(rand.Text()[:12]), Begun: now.UTC(), Limits: DefaultLimits(),
		GracePeriod: -1,
	}
}

// Folder is where the files of migrations are, relative to the current directory.
func Folder() string { return filepath.Join(".nearfar", "migrate-pool") }

// FileOf is the file of the migration away from a pool, by the name or the selector of the pool. Different selectors
// can have one file; then the second migration is refused until the first one is over.
func FileOf(old Side) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-':
			return r
		}
		return '_'
	}, cmp.Or(old.Pool, old.Selector))
	const most = 100
	return filepath.Join(Folder(), "from-"+name[:min(len(name), most)]+".json")
}

// maxState bounds a state file, in bytes.
const maxState = 16 << 20

// ReadState reads the file of a migration. The error is os.ErrNotExist if there is none.
func ReadState(file string) (*State, error) {
	data, err := files.ReadRegular(file, maxState)
	if err != nil {
		return nil, err
	}
	s, err := parseState(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// parseState reads and checks a state.
func parseState(data []byte) (*State, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var s State
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("it is no migration: %w", err)
	}
	switch {
	case s.Nearfar != "v1":
		return nil, fmt.Errorf("it is of version %q, and this program reads v1", s.Nearfar)
	case s.ID == "" || s.Old.Selector == "" || s.New.Selector == "":
		return nil, errors.New("it is no migration: an ID or a selector is missing")
	case !slices.Contains(s.Steps(), s.Step):
		return nil, fmt.Errorf("it has the step %q, which does not exist", s.Step)
	case s.Limits.Nodes <= 0 || s.Limits.Drain <= 0 || s.Limits.Workloads <= 0 || s.Limits.Pace < 0:
		return nil, errors.New("it has a limit that is not positive")
	}
	return &s, nil
}

// A File is the file of a migration, locked for this process.
type File struct {
	path string
	lock *os.File
}

// OpenFile locks the file of a migration. It fails if another process has it.
func OpenFile(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := files.Lock(l); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another nearfar: %w", path, err), l.Close())
	}
	return &File{path, l}, nil
}

// Close unlocks the file.
func (f *File) Close() error { return f.lock.Close() }

// Write replaces the file's content. Afterwards the disk has either the old or the new content, also after a crash.
func (f *File) Write(s *State) error {
	s.Changed = time.Now().UTC()
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return files.WriteWhole(f.path, append(data, '\n'))
}
