package web

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// MeasureSession sends requests to the server of a session.
func MeasureSession(ctx context.Context, c *session.Client, observer session.Observer) (record.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.Own(nil, cancel)
	if err := c.Frames.Write(wire.KindStart, nil); err != nil {
		return record.Result{}, c.Said("starting", err)
	}
	begun, began := make(chan wire.Begun, 1), false
	server := c.ListenTo(func(kind wire.Kind, payload []byte) error {
		if kind != wire.KindBegin || began {
			return fmt.Errorf("the server sent a frame of kind %d in the middle of http", kind)
		}
		began = true
		var b wire.Begun
		if err := wire.DecodePayload(payload, &b); err != nil {
			return err
		}
		begun <- b
		return nil
	})
	var o Options
	select {
	case b := <-begun:
		o = optionsOf(c, b)
	case <-server.Done:
		if server.Err == nil {
			server.Err = errors.New("the server reported before anything was measured")
		}
		return record.Result{}, server.Err
	}
	r, err := Measure(ctx, o, observer)
	if err != nil {
		return record.Result{}, c.WhyFailed(err, server)
	}
	if err := c.Frames.Write(wire.KindStop, nil); err != nil {
		return record.Result{}, c.Said("ending", err)
	}
	if <-server.Done; server.Err != nil {
		return record.Result{}, server.Err
	}
	if err := c.CheckReport(server.Report, session.Sent{}, wire.Interval{}); err != nil {
		return record.Result{}, err
	}
	r.Metrics = append(r.Metrics, session.CPUMetrics(0, 0, server.Report)...)
	session.AddClosingFacts(r.Facts, server.Report, 0)
	return r, nil
}

// optionsOf are the options of a session.
func optionsOf(c *session.Client, b wire.Begun) Options {
	p := c.Options.Params
	token := hex.EncodeToString(c.Cookie[:])
	o := Options{
		URL: &url.URL{Scheme: "http", Host: c.Server.String(), Path: "/"}, HTTP: p.HTTP,
		Header: http.Header{wire.TokenHeader: {token}}, Secrets: []string{token},
		Concurrency: p.Connections, Request: p.Request, Response: p.Response, Schedule: c.Options.Load.Schedule,
		Warmup: p.Warmup, Duration: p.Duration,
	}
	if p.HTTP.TLS {
		o.URL.Scheme, o.TLS = "https", pinned(b.Key)
	}
	return o
}
