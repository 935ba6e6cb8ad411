// Package engine is the native engine: it measures between two processes that speak the protocol of
// docs/wire-protocol.md. This package knows all modes. It runs a measurement, serves, and sweeps a load over many
// rates. The packages below it import each other in one direction only:
//
//	rr, stream, load, web -> session -> sys, observe -> wire -> timing
//
// record and samples are the formats of the files that a run writes, process is about the engine's own process.
package engine

import (
	"context"

	"nearfar/internal/onhost/engine/load"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/rr"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/stream"
	"nearfar/internal/onhost/engine/web"
	"nearfar/internal/onhost/engine/wire"
)

// Run measures once, and returns the contents of the record's last line. It takes no longer than warm-up, window and
// half a minute, whatever the server does.
func Run(ctx context.Context, o session.RunOptions, observer session.Observer) (record.Result, error) {
	return session.Run(ctx, o, measure, observer)
}

// measure runs the mode. Every way that it can block ends with the control connection or the deadline.
func measure(ctx context.Context, c *session.Client, observer session.Observer) (record.Result, error) {
	switch c.Options.Params.Mode {
	case wire.ModeStream:
		return stream.Measure(ctx, c, observer)
	case wire.ModeLoad:
		return load.Measure(ctx, c, observer)
	case wire.ModeMessages:
		return stream.MeasureMessages(ctx, c, observer)
	case wire.ModeHTTP:
		return web.MeasureSession(ctx, c, observer)
	}
	return rr.Measure(ctx, c, observer)
}

// Serve serves sessions, one at a time, until ctx ends, or as the options say. The error of an ended ctx is nil.
func Serve(ctx context.Context, o session.ServeOptions) error { return session.Serve(ctx, o, serve) }

// serve serves the data of one session.
func serve(d *session.Server) error {
	switch d.Params.Mode {
	case wire.ModeStream:
		return stream.Serve(d)
	case wire.ModeLoad:
		return load.Serve(d)
	case wire.ModeMessages:
		return stream.ServeMessages(d)
	case wire.ModeHTTP:
		return web.Serve(d)
	}
	return rr.Serve(d)
}
