package runner

import (
	"context"
	"fmt"
	"io"
	"sync"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/onhost/host"
)

// scene makes fake hosts that log what happens, in order.
type scene struct {
	mu     sync.Mutex
	log    []string
	client fake.Program
	server fake.Program
	absent string
	// flow is the client of a background.
	flow fake.Program
	// lost is why the hosts are gone; nil if they are not.
	lost error
	// deadPort is a port on which no server ever serves, stranger a port that another program holds; 0 for none.
	deadPort, stranger int
	// early says that the host gives a server up a moment before its caller does.
	early bool
	// overlap says that a trial may begin while the server of the one before ends.
	overlap bool
	// watch is the watcher of kernels, and the capturer; nil for none. twoKernels says that the hosts are two machines,
	// and space is the file of a namespace on one.
	watch      fake.Program
	twoKernels bool
	space      string
	// kernels are where the kernels are watched.
	kernels host.Kernels
}

func (s *scene) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// hosts makes the hosts of every arm.
func (s *scene) hosts(e *experiment.Experiment) map[string]host.Hosts {
	hosts := map[string]host.Hosts{}
	for _, arm := range e.Arms {
		if owner := e.HostsOf(arm.Name); owner != arm.Name {
			hosts[arm.Name] = hosts[owner]
			continue
		}
		hosts[arm.Name] = s.pair(arm.Name)
	}
	return hosts
}

func (s *scene) pair(arm string) host.Hosts {
	self := func(ctx context.Context, argv []string, in []byte, stdout, stderr io.Writer) int {
		switch {
		case argv[1] == "absent":
			fmt.Fprint(stdout, s.absent)
		case argv[1] == "inside-watch" && s.watch != nil:
			return s.watch(ctx, argv, in, stdout, stderr)
		case argv[1] == "capture-packets" && s.watch != nil:
			return s.watch(ctx, argv, in, stdout, stderr)
		}
		return 0
	}
	client := fake.New(arm+"/client", map[string]fake.Program{host.Self: self,
		"clock": func(ctx context.Context, argv []string, in []byte, out, err io.Writer) int {
			if argv[1] == "--version" {
				fmt.Fprintln(out, "9.1")
				return 1 // some tools do
			}
			s.note("client %s", arm)
			return s.client(ctx, argv, in, out, err)
		}, "flow": func(ctx context.Context, argv []string, in []byte, out, err io.Writer) int {
			s.note("background client %s", arm)
			defer s.note("background client %s ends", arm)
			return s.flow(ctx, argv, in, out, err)
		}})
	server := fake.New(arm+"/server", map[string]fake.Program{host.Self: self,
		"clock": func(_ context.Context, _ []string, _ []byte, out, _ io.Writer) int {
			fmt.Fprintln(out, "9.2") // another version than the client's
			return 1
		},
		"clockd": func(ctx context.Context, argv []string, in []byte, out, err io.Writer) int {
			s.note("server %s", arm)
			if s.server != nil {
				return s.server(ctx, argv, in, out, err)
			}
			fmt.Fprintln(out, "serving")
			s.serve(ctx, 7)
			s.note("server %s ends", arm)
			return 0
		}, "flowd": func(ctx context.Context, argv []string, in []byte, out, err io.Writer) int {
			s.note("background server %s", arm)
			s.serve(ctx, 8)
			s.note("background server %s ends", arm)
			return 0
		}, "stranger": func(ctx context.Context, _ []string, _ []byte, out, _ io.Writer) int {
			if fake.Listen(ctx, "tcp", s.stranger) == nil {
				fmt.Fprintln(out, "here")
			}
			<-ctx.Done()
			return 0
		}})
	if s.stranger > 0 {
		s.startStranger(server)
	}
	return host.Hosts{Client: client, Server: notedHost{server, s}, Machines: s}
}

// serve holds a port until the process is ended.
func (s *scene) serve(ctx context.Context, port int) {
	if port != s.deadPort {
		_ = fake.Listen(ctx, "tcp", port) // what another process holds, Serves reports
	}
	<-ctx.Done()
}

// startStranger starts a process that holds a port, and waits until it does.
func (s *scene) startStranger(h host.Host) {
	out, in := io.Pipe()
	if _, err := h.Start(context.Background(), host.Cmd{Argv: []string{"stranger"}, Stdout: in}); err != nil {
		panic(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
}

// notedHost notes when its processes serve.
type notedHost struct {
	host.Host
	scene *scene
}

func (h notedHost) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	p, err := h.Host.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	return notedProcess{p, h.scene}, nil
}

type notedProcess struct {
	host.Process
	scene *scene
}

func (p notedProcess) Serves(ctx context.Context, protocol string, port int) error {
	if p.scene.early {
		return context.DeadlineExceeded
	}
	err := p.Process.Serves(ctx, protocol, port)
	if err == nil {
		p.scene.note("ready: %s %d", protocol, port)
	}
	return err
}

func (s *scene) CPUs(experiment.Placement) (client, server []int, err error) {
	return []int{1}, []int{1}, nil
}

func (s *scene) Watch(context.Context, []int, []int) (begun func(), end func() host.Observation) {
	return func() {}, func() host.Observation { return host.Observation{} }
}

func (s *scene) Ahead(host.Machines) bool { return s.overlap }

func (s *scene) Kernels() host.Kernels {
	k := s.kernels
	k.One, k.Places = !s.twoKernels, []inside.Place{{Namespace: 4026532000, Name: "0-router", File: s.space}}
	return k
}

func (s *scene) Lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}
