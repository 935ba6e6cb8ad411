package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// What an API server, or something between, may cost.
const (
	// maxAnswer bounds an answer, in bytes. etcd's objects have at most 1.5 MB, and lists are asked for in pages.
	maxAnswer = 32 << 20
	// maxEvent bounds one event of a watch, in bytes: one object.
	maxEvent = 4 << 20
	// maxRetryAfter is how long a server may ask to wait: the library would obey any time, ten times.
	maxRetryAfter = 2 * time.Second
)

// A guard bounds what requests take: an answer must be there within requestLimit, whole, and be at most maxAnswer long.
// Of a watch only the beginning of the answer must: its events come when they come, each on a line of at most maxEvent.
// client-go accepts 16 MiB, and doubles its buffer until then.
type guard struct {
	next  http.RoundTripper
	limit time.Duration
}

// errSlow is the cause of a request that took too long.
var errSlow = errors.New("the API server did not answer in time")

// errLong says that an answer is too long.
var errLong = fmt.Errorf("the API server's answer is longer than %d MiB", maxAnswer>>20)

// errLongEvent says that an event is too long.
var errLongEvent = fmt.Errorf("an event of the API server is longer than %d MiB", maxEvent>>20)

// RoundTrip carries out a request.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	late := time.AfterFunc(g.limit, func() { cancel(errSlow) })
	answer, err := g.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		late.Stop()
		defer cancel(nil)
		return nil, g.words(ctx, err)
	}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil ||
		time.Duration(seconds)*time.Second > maxRetryAfter || seconds < 0 {
		answer.Header.Del("Retry-After")
	}
	body := &guardedBody{ReadCloser: answer.Body, guard: g, ctx: ctx, left: maxAnswer}
	if r.URL.Query().Get("watch") != "" {
		late.Stop()
		body.watch = true
	}
	body.end = sync.OnceFunc(func() {
		late.Stop()
		cancel(nil)
	})
	answer.Body = body
	return answer, nil
}

// words says that a request took too long, if it did.
func (g *guard) words(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSlow) {
		return fmt.Errorf("%w (%v)", errSlow, g.limit)
	}
	return err
}

// guardedBody is the body of an answer.
type guardedBody struct {
	io.ReadCloser
	guard *guard
	ctx   context.Context //nolint:containedctx // of the request
	watch bool            // the answer is events
	left  int64           // how many bytes of an answer may come
	event int64           // how many bytes of the present event came
	end   func()
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case !b.watch:
		if b.left -= int64(n); b.left < 0 {
			b.left = 0
			return 0, errLong
		}
	case bytes.IndexByte(p[:n], '\n') >= 0:
		b.event = int64(n - 1 - bytes.LastIndexByte(p[:n], '\n'))
	default:
		if b.event += int64(n); b.event > maxEvent {
			return 0, errLongEvent
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.guard.words(b.ctx, err)
	}
	return n, err
}

func (b *guardedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
