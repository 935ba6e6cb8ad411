package lab

import (
	"context"
	"errors"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/listening"
)

// serves waits until a process, or one that it started, holds a port.
func (s *initServer) serves(q request) (reply, error) {
	p, err := s.processes.get(q.Process)
	if err != nil {
		return reply{}, err
	}
	ns, err := s.space(q.Arm, q.Space)
	if err != nil {
		return reply{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if q.Limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, q.Limit)
		defer cancel()
	}
	go func() {
		select {
		case <-p.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	awaited := listening.Request{
		Protocol: q.Protocol, Port: q.Port, Ours: func(pid int) bool {
			return hasEnv(pid, p.mark()) || s.processes.isBelow(p, pid)
		},
	}
	if s.processes.hasFreshProc() {
		awaited.PID = p.pid
	}
	err = onThread(func() error {
		if err := ns.enter(); err != nil {
			return err
		}
		return listening.Await(ctx, awaited)
	})
	if taken, ok := errors.AsType[*host.PortTakenError](err); ok {
		return reply{Taken: taken}, err
	}
	select {
	case <-p.ended:
		if err != nil {
			return reply{Ended: true}, err
		}
	default:
	}
	return reply{Expired: errors.Is(err, context.DeadlineExceeded)}, err
}
