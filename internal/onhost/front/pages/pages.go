// Package pages is the front of an application: it answers pages over HTTP, each of which takes queries of PostgreSQL.
// It is the program nearfar-front, since no other program of nearfar has a client of databases.
package pages

import (
	"bufio"
	"context"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/front"
)

const (
	// query gives as many bytes as it is asked for. It reads no table, so that every database can answer it.
	query = "SELECT repeat('x', $1::int)"
	// startTime is how long a database that is starting is waited for, and connectTime how long one connection may take.
	startTime   = 8 * time.Second
	connectTime = 5 * time.Second
	// queryTime is how long the queries of a page may take together.
	queryTime = 9 * time.Second
	// maxOptions bounds the options, in bytes.
	maxOptions = 1 << 20
)

// Main is the program. It reads its options from the first line of standard input, says on standard output where it
// listens, and serves until its input ends.
func Main(stdin io.Reader, stdout io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := bufio.NewReaderSize(io.LimitReader(stdin, maxOptions), 64<<10)
	said := json.NewEncoder(stdout)
	var o front.Options
	line, err := in.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &o) != nil {
		_ = said.Encode(front.Said{Failed: "standard input has no options"})
		return 1
	}
	s, listener, err := open(ctx, o)
	if err != nil {
		_ = said.Encode(front.Said{Failed: front.Complaint(err, s.secrets...)})
		return 1
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: connectTime, MaxHeaderBytes: 16 << 10}
	go func() {
		_, _ = io.Copy(io.Discard, in) // who started it has ended
		_ = server.Close()
	}()
	if err := said.Encode(front.Said{Listen: listener.Addr().String()}); err != nil {
		return 1
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return 1
	}
	return 0
}

// A service answers pages.
type service struct {
	o       front.Options
	config  *pgx.ConnConfig
	secrets []string
	facts   map[string]string
	// idle are the connections that no page uses. A nil is one that has to be opened.
	idle chan *pgx.Conn

	mu     sync.Mutex
	counts counts
}

// counts are what was counted since it was last asked for.
type counts struct {
	front.Figures
	times *observe.Histogram
}

// open makes the connections to the database, and the listener. The service of an error has the secrets.
func open(ctx context.Context, o front.Options) (*service, net.Listener, error) {
	s := &service{o: o, secrets: []string{o.Database, o.Token}, counts: counts{times: observe.NewHistogram()}}
	if err := s.configure(); err != nil {
		return s, nil, err
	}
	places := max(o.Pages, 1) * max(o.Parallel, 1)
	s.idle = make(chan *pgx.Conn, places)
	first, err := s.first(ctx)
	if err != nil {
		return s, nil, err
	}
	s.describe(first)
	s.idle <- first
	for range places - 1 {
		var c *pgx.Conn
		if !o.PerRequest {
			if c, err = s.connect(ctx); err != nil {
				return s, nil, err
			}
		}
		s.idle <- c
	}
	listener, err := net.Listen("tcp", o.Listen) //nolint:noctx // it does not wait
	return s, listener, err
}

// configure reads the URL of the database.
func (s *service) configure() error {
	config, err := pgx.ParseConfig(s.o.Database)
	if err != nil {
		return errors.New("the URL of the database cannot be read: write postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	s.secrets = append(s.secrets, config.Password)
	config.ConnectTimeout = connectTime
	if len(s.o.CA) > 0 {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(s.o.CA) {
			return errors.New("the database's certificate cannot be read")
		}
		config.TLSConfig = &tls.Config{RootCAs: roots, ServerName: front.ServerName, MinVersion: tls.VersionTLS13}
		config.Fallbacks = nil
	}
	if s.o.PerRequest {
		// A connection with one query is not worth the round trip in which a statement is prepared.
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	s.config = config
	return nil
}

// startingUp is PostgreSQL's code for a server that does not take connections yet (cannot_connect_now).
const startingUp = "57P03"

// first opens the first connection. A server that is starting is asked again.
func (s *service) first(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		c, err := s.connect(ctx)
		if failed, ok := errors.AsType[*pgconn.PgError](err); err == nil || !ok || failed.Code != startingUp {
			return c, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// connect opens a connection, and asks one query, so that its statement is prepared.
func (s *service) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, err
	}
	if s.o.PerRequest {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	if _, err := ask(ctx, c, s.o.Size); err != nil {
		_ = c.Close(ctx)
		return nil, err
	}
	return c, nil
}

// describe notes what the database says of itself.
func (s *service) describe(c *pgx.Conn) {
	s.facts = map[string]string{
		"database": "PostgreSQL " + c.PgConn().ParameterStatus("server_version"),
		"queries":  strconv.Itoa(s.o.Queries), "parallel": strconv.Itoa(s.o.Parallel), "database_tls": "none",
		"database_connections": "pooled",
	}
	if s.o.PerRequest {
		s.facts["database_connections"] = "per-request"
	}
	if over, ok := c.PgConn().Conn().(*tls.Conn); ok {
		state := over.ConnectionState()
		s.facts["database_tls"] = tls.VersionName(state.Version) + " " + tls.CipherSuiteName(state.CipherSuite)
	}
}

// ask asks one query.
func ask(ctx context.Context, c *pgx.Conn, size int) (text string, err error) {
	if err := c.QueryRow(ctx, query, size).Scan(&text); err != nil {
		return "", err
	}
	if len(text) != size {
		return "", fmt.Errorf("a query gave %d bytes, where %d were asked for", len(text), size)
	}
	return text, nil
}

// ServeHTTP answers whoever has the token.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(front.TokenHeader)), []byte(s.o.Token)) != 1 {
		http.Error(w, "this front answers the workload that started it", http.StatusForbidden)
		return
	}
	switch r.URL.Path {
	case front.PagePath:
		s.page(w, r)
	case front.FiguresPath:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.figures())
	default:
		http.NotFound(w, r)
	}
}

// page answers a page: what its queries gave.
func (s *service) page(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), queryTime)
	defer cancel()
	began := time.Now()
	texts, err := s.queries(ctx)
	s.count(time.Since(began), err)
	if err != nil {
		http.Error(w, front.Complaint(err, s.secrets...), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Content-Length", strconv.Itoa(s.o.Queries*s.o.Size))
	for _, text := range texts {
		if _, err := io.WriteString(w, text); err != nil {
			return // the caller has gone
		}
	}
}

// queries asks the queries of a page, and gives what they gave.
func (s *service) queries(ctx context.Context) ([]string, error) {
	texts := make([]string, s.o.Queries)
	at := s.share(0)
	if s.o.Parallel <= 1 {
		return texts, s.some(ctx, texts[at:])
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i := range s.o.Parallel {
		mine := texts[s.share(i):s.share(i+1)]
		all.Go(func() {
			if err := s.some(ctx, mine); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return texts, context.Cause(ctx)
}

// share is where the share of one of the connections of a page begins.
func (s *service) share(i int) int { return i * s.o.Queries / max(s.o.Parallel, 1) }

// some asks queries on one connection, one after the other.
func (s *service) some(ctx context.Context, texts []string) (err error) {
	if len(texts) == 0 {
		return nil
	}
	var c *pgx.Conn
	select {
	case c = <-s.idle:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { s.idle <- s.kept(c, err) }()
	if c == nil || c.IsClosed() {
		if c, err = s.connect(ctx); err != nil {
			return err
		}
	}
	for i := range texts {
		if texts[i], err = ask(ctx, c, s.o.Size); err != nil {
			return err
		}
	}
	return nil
}

// kept is what is kept of a connection that a page has used: nil if it was the page's own, or is broken.
func (s *service) kept(c *pgx.Conn, err error) *pgx.Conn {
	if c == nil || err == nil && !s.o.PerRequest {
		return c
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
	return nil
}

// count notes a page.
func (s *service) count(took time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.counts.Failed++; s.counts.Complaint == "" {
			s.counts.Complaint = front.Complaint(err, s.secrets...)
		}
		return
	}
	s.counts.Pages++
	s.counts.Queries += int64(s.o.Queries)
	s.counts.times.Record(int64(took))
}

// figures gives what was counted, and begins anew.
func (s *service) figures() front.Figures {
	s.mu.Lock()
	was := s.counts
	s.counts = counts{times: observe.NewHistogram()}
	s.mu.Unlock()
	f := was.Figures
	f.Facts = s.facts
	f.Metrics = was.times.Metrics(result.PageQueryTime)
	return f
}
