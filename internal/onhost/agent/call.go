package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/yamux"

	"nearfar/internal/onhost/host"
)

// A call is a request with what belongs to it.
type call struct {
	request request
	// body follows the request: of start and put.
	body []byte
	// waits says that the answer may take any time. Otherwise the agent is lost if it does not answer within the limit
	// of the client's options, or does not within that and a reconnection.
	waits bool
	// takes is how long the agent needs for what is asked, in addition to the limit.
	takes time.Duration
	// receive reads what follows the reply. If it fails because the connection broke, the call is repeated; again then
	// changes the request.
	receive func(r io.Reader) error
	again   func(*request)
	// evenClosed says that the call is possible after Close.
	evenClosed bool
}

// maxRepeats bounds how often a call is repeated. A call that breaks every connection must end.
const maxRepeats = 200

// noteAfter is how long a call lasts until Options.Note is told of it.
const noteAfter = 5 * time.Second

// errBroken says that the connection broke during a call.
var errBroken = errors.New("the connection to the agent broke")

// exchange carries out a call, and repeats it on another connection if one breaks. It returns the agent's error, the
// error of ctx, or an error that wraps host.ErrLost.
func (c *Client) exchange(ctx context.Context, q call) (reply, error) {
	q.request.Size = int64(len(q.body))
	if !q.waits {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, c.o.limit()+c.o.silence()+q.takes, errTimeLimit)
		defer cancel()
		if c.o.Note != nil {
			defer time.AfterFunc(noteAfter, func() {
				c.o.Note(fmt.Sprintf("%s: waiting for the agent's answer (%s), for at most %v", c.o.Name, q.request.Call,
					c.o.limit()+c.o.silence()))
			}).Stop()
		}
	}
	for range maxRepeats {
		if c.isClosed() && !q.evenClosed {
			return reply{}, errClosed
		}
		s, err := c.current(ctx)
		if err != nil {
			return reply{}, c.late(ctx, err)
		}
		r, err := c.try(ctx, s, q)
		err = c.late(ctx, err)
		switch {
		case err == nil:
			return r, c.answered(r)
		case errors.Is(err, errProtocol):
			c.lose(host.Lost(c.o.Name, err.Error()))
		case ctx.Err() != nil && !errors.Is(err, host.ErrLost):
			return reply{}, ctx.Err()
		case !errors.Is(err, errBroken):
			return reply{}, err
		}
		_ = s.Close()
		if q.again != nil {
			q.again(&q.request)
		}
	}
	c.lose(host.Lost(c.o.Name, fmt.Sprintf("the connection broke %d times during one call", maxRepeats)))
	return reply{}, c.Lost()
}

// late loses an agent that has used up the time for a call with all its repetitions.
func (c *Client) late(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errTimeLimit) || c.Lost() != nil {
		return err
	}
	c.lose(host.Lost(c.o.Name, fmt.Sprintf("the agent did not answer within %v", c.o.limit()+c.o.silence())))
	return c.Lost()
}

// answered is the error of a reply. An agent that ends although its owner did not ask for it is lost.
func (c *Client) answered(r reply) error {
	err := r.err()
	if !errors.Is(err, errEnding) || c.isClosed() {
		return err
	}
	c.lose(host.Lost(c.o.Name, ErrGone.Error()))
	return fmt.Errorf("%w: %w", c.Lost(), err)
}

// try carries out a call on a connection.
func (c *Client) try(ctx context.Context, s *yamux.Session, q call) (reply, error) {
	if !q.waits {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, c.o.limit()+q.takes, errTimeLimit)
		defer cancel()
	}
	stream, err := s.OpenStream()
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errBroken, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = stream.SetDeadline(time.Unix(1, 0)) })
	r, err := q.on(stream)
	stop()
	_ = stream.Close()
	if errors.Is(context.Cause(ctx), errTimeLimit) {
		c.lose(host.Lost(c.o.Name, fmt.Sprintf("the agent did not answer within %v", c.o.limit())))
		return reply{}, c.Lost()
	}
	return r, err
}

var errTimeLimit = errors.New("time limit of a call")

// on carries out a call on a stream. Errors of the stream wrap errBroken.
func (q call) on(stream io.ReadWriter) (reply, error) {
	var r reply
	err := writeMessage(stream, q.request)
	if err == nil && q.request.hasBody() {
		w := chunkWriter{w: stream}
		if _, err = w.Write(q.body); err == nil {
			err = w.Close()
		}
	}
	if err == nil {
		err = readMessage(stream, maxMessage, &r)
	}
	if err == nil && r.Error == "" && q.receive != nil {
		err = q.receive(stream)
	}
	if err == nil || errors.Is(err, errProtocol) || errors.Is(err, errTooLong) {
		return r, err
	}
	return r, fmt.Errorf("%w: %w", errBroken, err)
}
