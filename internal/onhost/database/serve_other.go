//go:build !linux

package database

import (
	"context"
	"errors"
	"io"
)

var errSystem = errors.New("nearfar starts PostgreSQL on Linux alone")

// Version is the version of the PostgreSQL of this host.
func Version(context.Context) (string, error) { return "", errSystem }

// Server is a PostgreSQL that runs.
type Server struct{}

// Start starts PostgreSQL.
func Start(context.Context, Options, io.Writer) (*Server, error) { return nil, errSystem }

// Ended is closed when it has ended.
func (*Server) Ended() <-chan struct{} { return nil }

// AwaitListening waits until it listens.
func (*Server) AwaitListening(context.Context) error { return errSystem }

// Stop ends it.
func (*Server) Stop() error { return nil }
