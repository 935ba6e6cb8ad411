package history

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectPatience is how long a database may take to answer.
const connectPatience = 15 * time.Second

func postgresDialect() dialect {
	return dialect{
		identity: "bigint generated always as identity primary key",
		// The number of the lock is the bytes of "nearfar".
		lock:   "select pg_advisory_xact_lock(31067651103285618)",
		exists: "select to_regclass($1) is not null",
	}
}

// checkAddress refuses anything but the address of a PostgreSQL database. It also refuses an address with a password,
// because every user of the machine can read the command lines of all processes.
func checkAddress(address string) error {
	const right = "write --db postgres://USER@HOST/DATABASE"
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("--db is no address of a PostgreSQL database: " + right) // not quoted: it may hold a password
	}
	_, inUser := u.User.Password()
	for name := range u.Query() {
		if strings.Contains(strings.ToLower(name), "password") && !strings.EqualFold(name, "passfile") {
			inUser = true
		}
	}
	if inUser {
		return errors.New("--db holds a password, which everyone on this machine could read: " + right +
			", and give the password in PGPASSWORD, ~/.pgpass or a service file")
	}
	return nil
}

// shownAddress is the address without secrets.
func shownAddress(c *pgx.ConnConfig) string {
	return fmt.Sprintf("postgres://%s@%s/%s", c.User, c.Host, c.Database)
}

// openPostgres connects to a team's database and brings its schema up to date. Missing parts of the address come from
// the environment, ~/.pgpass and the service file, as in psql. The error is an AddressError if the address is wrong.
func openPostgres(ctx context.Context, address string) (*store, string, error) {
	if err := checkAddress(address); err != nil {
		return nil, "", &AddressError{err}
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, "", &AddressError{fmt.Errorf("--db: %w", err)}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectPatience
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(1)
	s := &store{db, postgresDialect()}
	if err := s.migrate(ctx); err != nil {
		return nil, "", errors.Join(fmt.Errorf("%s: %w", shownAddress(config), err), db.Close())
	}
	return s, shownAddress(config), nil
}

// AddressError says that the address of a database is wrong, or must not be used.
type AddressError struct{ err error }

func (e *AddressError) Error() string { return e.err.Error() }

// Unwrap gives the reason.
func (e *AddressError) Unwrap() error { return e.err }
