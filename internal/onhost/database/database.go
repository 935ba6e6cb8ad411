// Package database starts a PostgreSQL for a trial, in a folder for temporary files, with a password that only the
// trial knows.
package database

import (
	"net/netip"

	"nearfar/internal/onhost/front"
)

// User is the name of the only user of the database, and Name the name of the database.
const (
	User = "nearfar"
	Name = "postgres"
)

// Options say how PostgreSQL is reached. They travel on standard input, because they have secrets.
type Options struct {
	// Listen is where it listens.
	Listen netip.AddrPort `json:"listen,omitzero"`
	// Password is the user's.
	Password string `json:"password"`
	// Certificate has its certificate and the key of it, in PEM: then it takes connections with TLS alone.
	Certificate []byte `json:"certificate,omitempty"`
	// Connections are how many it takes at once.
	Connections int `json:"connections"`
}

// Backend is what the server's side of an application reads from standard input.
type Backend struct {
	// Database is the PostgreSQL that is started; nil for one of the user's.
	Database *Options `json:"database,omitempty"`
	// Front is the front beside the database; nil if it is on the client's host.
	Front *front.Options `json:"front,omitempty"`
}

// Missing says that a host has no PostgreSQL.
const Missing = "PostgreSQL is not installed: neither PATH nor the folders in which distributions put it have initdb " +
	"and postgres"
