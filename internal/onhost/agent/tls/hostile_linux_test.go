package tls

import (
	"context"
	"testing"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// TestHostileAgentsOverTLS: hostile agents that are reached by a join string.
func TestHostileAgentsOverTLS(t *testing.T) {
	modes := hosttest.HostileModes()
	hosttest.Besiege(t, modes, func(ctx context.Context, t *testing.T, name, mode string) (host.Host, error) {
		a := agentOf(t, directions()[0], func(o *AgentOptions) { o.Log = nil })
		go func() {
			for {
				c, err := a.Accept(context.Background())
				if err != nil {
					return
				}
				go func() { _ = hosttest.ServeHostile(c, mode) }()
			}
		}()
		t.Cleanup(func() { _ = a.Close() })
		_, dial := ownerOf(t, a.Join().Encode())
		c, err := agent.Connect(ctx, dial, agent.Options{
			Name: name, Session: a.Join().Session(), Limit: hosttest.BesiegeLimit, Silence: hosttest.BesiegeLimit,
			Endpoint: hosttest.Loopback(t, name),
		})
		if err != nil {
			return nil, err
		}
		return c.Host(), nil
	})
}
