package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/inside"
	"nearfar/internal/onhost/children"
	"nearfar/internal/onhost/host"
)

// An initServer is the lab's init: it owns all namespaces and processes.
type initServer struct {
	conn      *messageConn
	setup     setup
	facts     Facts
	processes *processTable
	probed    *namespace

	mu   sync.Mutex
	arms map[string]*builtArm
}

// RunInit is the lab's init. It serves requests on the inherited control connection until the other end closes that.
func RunInit() error {
	if os.Getpid() != 1 {
		return errors.New("the lab's init is started by nearfar itself")
	}
	conn, err := newMessageConn(os.NewFile(controlFD, "lab control"))
	if err != nil {
		return err
	}
	s := &initServer{conn: conn, processes: newProcessTable(), arms: map[string]*builtArm{}}
	go children.Reap(s.processes, true, nil)
	for first := true; ; first = false {
		var q request
		files, err := conn.receive(&q)
		if errors.Is(err, io.EOF) {
			return nil // nearfar is gone; the end of process 1 ends all others
		}
		if err != nil {
			return err
		}
		if first != (q.Op == opSetup) {
			return fmt.Errorf("operation %s out of order", q.Op)
		}
		if first {
			s.reply(q, files)
			continue
		}
		go s.reply(q, files)
	}
}

// reply executes a request and answers it.
func (s *initServer) reply(q request, files []*os.File) {
	r, err := s.serve(q, files)
	closeAll(files)
	r.ID = q.ID
	if err != nil {
		r.Error = err.Error()
		if advice := scarce(err); advice != "" {
			r.Error += "; " + advice
		}
		r.NotFound = errors.Is(err, host.ErrNotFound)
		r.Unsupported = r.Unsupported || errors.Is(err, ErrUnsupported)
		if errors.Is(err, errNoWires) && q.Op != opBuild {
			r.Lost = fmt.Sprintf("arm %s: %v", q.Arm, err)
		}
	}
	s.send(r)
}

// send sends a reply. It has no limit, because nearfar may be stopped.
func (s *initServer) send(r reply) {
	if err := s.conn.send(0, r); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func (s *initServer) serve(q request, files []*os.File) (reply, error) {
	switch q.Op {
	case opSetup:
		if q.Setup == nil {
			return reply{}, errors.New("setup without its data")
		}
		s.setup = *q.Setup
		if err := s.prepare(); err != nil {
			// A failure here means that this machine does not allow labs, unless a resource ran out (scarce).
			return reply{Unsupported: scarce(err) == ""}, err
		}
		return reply{Facts: &s.facts}, nil
	case opBuild:
		if q.Plan == nil {
			return reply{}, errors.New("build without its plan")
		}
		if err := q.Plan.address(); err != nil {
			return reply{}, err
		}
		places, err := s.buildArm(q.Plan)
		return reply{Places: places}, err
	case opStart:
		return s.start(q, files)
	case opWait:
		return s.processes.wait(q.Process)
	case opServes:
		return s.serves(q)
	case opSignal:
		return reply{}, s.processes.signal(q.Process, unix.Signal(q.Signal))
	case opKill:
		return reply{}, s.processes.killTree(q.Process)
	case opPut:
		if len(files) != 1 {
			return reply{}, errors.New("put without its file")
		}
		return reply{}, putFile(q.Path, fs.FileMode(q.Mode), files[0])
	case opClear:
		ns, err := s.space(q.Arm, q.Space)
		if err != nil {
			return reply{}, err
		}
		return reply{}, killNamespace(ns)
	case opDrop:
		s.dropArm(q.Arm)
		return reply{}, nil
	case opWireBegin:
		return reply{}, s.beginWire(q.Arm)
	case opWireEnd:
		seen, err := s.endWire(q.Arm)
		return reply{Seen: seen}, err
	case opLook:
		seen, err := s.look(q.Arm)
		return reply{Look: &seen}, err
	case opCount:
		counted, err := s.count(q.Arm)
		return reply{Counted: counted}, err
	case opObserve:
		elements, err := s.observe(q.Arm)
		return reply{Elements: elements}, err
	}
	return reply{}, fmt.Errorf("unknown operation %q", q.Op)
}

// prepare makes the mount namespace private and probes the kernel.
func (s *initServer) prepare() error {
	fresh, err := privateMounts()
	if err != nil {
		return err
	}
	s.processes.mu.Lock()
	s.processes.freshProc = fresh
	s.processes.mu.Unlock()
	features, probed, err := probeFeatures()
	if err != nil {
		return err
	}
	s.probed = probed
	machine := check.ReadMachine()
	s.facts = Facts{
		UserNamespace: s.setup.UserNamespace,
		Kernel:        machine.Kernel,
		CPUModel:      machine.Model,
		ClockSource:   machine.ClockSource,
		Congestion:    congestion(),
		Wire:          WireUser,
		CPUs:          s.setup.CPUs,
		ServiceCPU:    s.setup.ServiceCPU,
		FreshProc:     fresh,
		Features:      features,
	}
	switch {
	case s.setup.UserWire:
	case features[featureNetem]:
		s.facts.Wire = WireKernel
	case features[featureTBF] && s.setup.RateOnly:
		s.facts.Wire = WireBucket
	}
	return nil
}

// congestion is TCP's default congestion control; "" if the kernel does not say.
func congestion() string {
	b, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	return strings.TrimSpace(string(b))
}

// arm finds an arm that exists.
func (s *initServer) arm(name string) (*builtArm, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.arms[name]
	if a == nil {
		return nil, fmt.Errorf("no arm %s in the lab: %w", name, ErrClosed)
	}
	return a, nil
}

// space finds a namespace of an arm by its name.
func (s *initServer) space(arm, name string) (*namespace, error) {
	a, err := s.arm(arm)
	if err != nil {
		return nil, err
	}
	for i, sp := range a.plan.Spaces {
		if sp.Name == name {
			return a.namespaces[i], nil
		}
	}
	return nil, fmt.Errorf("no namespace %s in arm %s", name, arm)
}

// buildArm makes an arm, and says which namespaces it has.
func (s *initServer) buildArm(p *plan) ([]inside.Place, error) {
	a, err := buildArm(p, s.facts.Wire)
	if err == nil {
		err = s.startWires(a)
	}
	if err == nil {
		err = a.verify(context.Background())
	}
	if err != nil {
		a.free()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arms[p.Arm] = a
	if a.wires != nil {
		go s.watchWires(a)
	}
	return a.places(), nil
}

// places are the arm's namespaces. The name of a long path through one namespace is cut. Processes of the lab can open
// each by the file of this process that holds it.
func (a *builtArm) places() (all []inside.Place) {
	const most = 64                       // bytes
	own, err := os.Readlink("/proc/self") // the number that /proc has for it
	for _, ns := range a.namespaces {
		number := uint32(ns.inode) // #nosec G115 -- the kernel numbers them with 32 bits
		p := inside.Place{Namespace: number, Name: ns.name[:min(len(ns.name), most)]}
		if err == nil {
			p.File = fmt.Sprintf("/proc/%s/fd/%d", own, ns.file.Fd())
		}
		all = append(all, p)
	}
	return all
}

func (s *initServer) dropArm(name string) {
	s.mu.Lock()
	a := s.arms[name]
	delete(s.arms, name)
	s.mu.Unlock()
	if a != nil {
		a.free()
	}
}

// putFile writes a temporary file in the same directory and renames it, so that the file is whole or absent.
func putFile(path string, mode fs.FileMode, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".put-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(mode.Perm())
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
