// Package front starts the front of an application, a program of its own, and says what both exchange. The front
// answers pages over HTTP, each of which takes queries of a database (front/pages).
package front

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nearfar/internal/declare/result"
)

// File is the name of the program, in the folder for temporary files of a host's processes.
const File = "nearfar-front"

// ServerName is the name in the certificate of a PostgreSQL that nearfar starts.
const ServerName = "nearfar-database"

// TokenHeader carries the token in each request. Others are refused.
const TokenHeader = "Nearfar-Token" //nolint:gosec // a name, no secret

// The paths that a front serves.
const (
	PagePath    = "/page"
	FiguresPath = "/figures"
)

// Options say what a page takes. They travel on standard input, because they have secrets.
type Options struct {
	// Listen is where pages are asked for, ADDRESS:PORT. Port 0 is any.
	Listen string `json:"listen"`
	// Token is what requests must carry.
	Token string `json:"token"`
	// Database is the URL of the database. With CA, in PEM, the connections are of TLS 1.3, and the server has a
	// certificate of these for ServerName.
	Database string `json:"database"`
	CA       []byte `json:"ca,omitempty"`
	// Queries is how many queries a page takes, Parallel how many at once, and Size the bytes that each gives.
	Queries  int `json:"queries"`
	Parallel int `json:"parallel"`
	Size     int `json:"size"`
	// PerRequest makes each page open connections of its own.
	PerRequest bool `json:"per_request,omitempty"`
	// Pages is how many pages are answered at once.
	Pages int `json:"pages"`
}

// Caller is what the caller of an application reads from standard input.
type Caller struct {
	// Token is what the front wants.
	Token string `json:"token"`
	// Front is the front beside the caller; nil if it is on the server's host.
	Front *Options `json:"front,omitempty"`
}

// Said is the first line of a front's output: where it listens, or why it cannot.
type Said struct {
	Listen string `json:"listen,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// Figures are what a front counted since it was last asked.
type Figures struct {
	// Pages are those with all their queries, Queries the queries of these. Failed counts the other pages, and Complaint
	// says why the first of them failed.
	Pages     int64  `json:"pages"`
	Queries   int64  `json:"queries"`
	Failed    int64  `json:"failed,omitempty"`
	Complaint string `json:"complaint,omitempty"`
	// Metrics are of the time that pages spent in queries.
	Metrics []result.Metric `json:"metrics"`
	// Facts say what the front asks, and whom.
	Facts map[string]string `json:"facts"`
}

const (
	// startTime is how long a front may take until it serves: it opens all its connections before.
	startTime = 12 * time.Second
	// askTime is how long a front may take to tell its figures.
	askTime = 5 * time.Second
	// maxSaid bounds a line and an answer of a front, in bytes.
	maxSaid = 1 << 20
)

// A Front is one that runs.
type Front struct {
	Said
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// Start starts the front of this host, and returns when it serves.
func Start(ctx context.Context, o Options) (*Front, error) {
	path := filepath.Join(os.TempDir(), File)
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path)
	var complaint bytes.Buffer
	cmd.Stderr = &limited{to: &complaint, left: 4 << 10}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the front was not put on this host: %w", err)
	}
	f := &Front{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	patience := time.AfterFunc(startTime, func() { _ = cmd.Process.Kill() })
	_, err = stdin.Write(append(text, '\n'))
	if err == nil {
		f.Said, err = readSaid(stdout)
	}
	late := !patience.Stop()
	go func() {
		_, _ = io.Copy(io.Discard, stdout) // it says nothing more
		_ = cmd.Wait()
		close(f.ended)
	}()
	if err == nil {
		return f, nil
	}
	f.End()
	switch failed, ok := errors.AsType[*refusedError](err); {
	case ok:
		return nil, failed
	case late:
		return nil, fmt.Errorf("the front did not serve within %v", startTime)
	}
	if said := strings.TrimSpace(complaint.String()); said != "" {
		return nil, fmt.Errorf("the front ended: %s", said)
	}
	return nil, fmt.Errorf("the front ended: %w", err)
}

// refusedError is why a front does not serve, in its own words.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return "the front cannot serve: " + e.why }

func readSaid(from io.Reader) (s Said, err error) {
	line, err := bufio.NewReader(io.LimitReader(from, maxSaid)).ReadBytes('\n')
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return s, errors.New("it said what no front says")
	}
	if s.Failed != "" {
		return s, &refusedError{s.Failed}
	}
	return s, nil
}

// End ends the front: it ends when its standard input does, and is killed.
func (f *Front) End() {
	_ = f.stdin.Close()
	_ = f.cmd.Process.Kill() // it keeps nothing
	<-f.ended
}

// Ended is closed when the front has ended.
func (f *Front) Ended() <-chan struct{} { return f.ended }

// Ask asks a front for its figures, which begin anew with that.
func Ask(ctx context.Context, address, token string) (f Figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	u := url.URL{Scheme: "http", Host: address, Path: FiguresPath}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return f, err
	}
	r.Header.Set(TokenHeader, token)
	client := http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return f, fmt.Errorf("asking the front for its figures: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxSaid))
	switch {
	case err != nil:
		return f, fmt.Errorf("reading the front's figures: %w", err)
	case answer.StatusCode != http.StatusOK:
		return f, fmt.Errorf("the front gave status %d for its figures", answer.StatusCode)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("the front's figures: %w", err)
	}
	return f, f.check()
}

// check refuses figures that no front gives.
func (f Figures) check() error {
	if f.Pages < 0 || f.Queries < 0 || f.Failed < 0 || len(f.Metrics) > 32 || len(f.Complaint) > maxComplaint ||
		len(f.Facts) > 16 {
		return errors.New("the front's figures are impossible")
	}
	for _, m := range f.Metrics {
		if m.Name != result.PageQueryTime || m.Unit != result.Seconds || m.Scope != "" || !(m.Value >= 0) {
			return fmt.Errorf("the front has a figure %.40q, which is none of a front", m.Name)
		}
	}
	return nil
}

// maxComplaint is the length of the longest complaint, in bytes.
const maxComplaint = 300

// Complaint makes what a front says of an error: one line without secrets.
func Complaint(err error, secrets ...string) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return text[:min(len(text), maxComplaint)]
}

// limited keeps the beginning of what is written.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	_, err := l.to.Write(p[:n])
	return len(p), err
}
