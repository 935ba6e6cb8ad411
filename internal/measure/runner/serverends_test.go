package runner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// ending is a tool whose server ends by itself within a time.
type ending struct {
	clocked
	within time.Duration
}

func (e ending) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	plan, err := e.clocked.Plan(w, pair)
	plan.ServerEnds = e.within
	return plan, err
}

// The runner waits for a server that ends by itself after a good client, and only for as long as the plan says.
func TestServerThatEndsByItself(t *testing.T) {
	for name, c := range map[string]struct {
		within     time.Duration
		goodClient bool
		serverEnds bool
		want       string
	}{
		"it ends":                           {time.Hour, true, true, "final"},
		"it hangs":                          {time.Millisecond, true, false, ""},
		"the client fails: no need to wait": {time.Hour, false, false, ""},
		"it is to be stopped":               {0, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			s := &scene{
				client: func(_ context.Context, _ []string, _ []byte, out, _ io.Writer) int {
					defer close(done)
					fmt.Fprintln(out, "0.5")
					if c.goodClient {
						return 0
					}
					return 1
				},
				server: func(ctx context.Context, _ []string, _ []byte, out, _ io.Writer) int {
					if fake.Listen(ctx, "tcp", 7) != nil {
						return 1
					}
					<-done
					if c.serverEnds {
						fmt.Fprintln(out, "final")
						return 0
					}
					<-ctx.Done()
					return 0
				},
			}
			e := twoArms(1)
			e.Arms = e.Arms[:1]
			k := &kept{raw: map[string]string{}}
			r := New(e, tools{ending{within: c.within}}, s.hosts(e), DefaultLimits(), nil)
			if err := r.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := r.Run(t.Context(), k, nil); err != nil {
				t.Fatal(err)
			}
			printed := ""
			for file, data := range k.raw {
				if strings.HasSuffix(file, ".server.out") {
					printed = strings.TrimSpace(data)
				}
			}
			if printed != c.want {
				t.Errorf("the server printed %q, want %q", printed, c.want)
			}
		})
	}
}
