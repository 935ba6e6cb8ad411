package tool

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/database"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/front"
	"nearfar/internal/onhost/host"
)

// AppName is the tool that asks for pages of an application.
const AppName = experiment.App

// appOverhead is how long starting the front takes, in addition to what the engine does.
const appOverhead = time.Second

// appProgram declares the pages of an application, whose queries a database answers.
func appProgram() program {
	const ms = time.Millisecond
	return program{
		declared: experiment.Tool{
			Name: AppName, Does: []experiment.Capability{{
				Mode: experiment.App, Protocol: experiment.TCP, Waits: []string{experiment.WaitBlock},
				Response: experiment.Range{Min: 1, Max: 1 << 20},
				Numbers: map[string]experiment.Range{
					"concurrency": {Min: 1, Max: 100}, "queries": {Min: 1, Max: experiment.MaxQueries},
					"parallel": {Min: 1, Max: experiment.MaxParallel},
				},
				Rate:     experiment.RateLimits{Unit: experiment.EventRate, Min: 0.001, Max: 1e9},
				Duration: experiment.Durations{Min: 10 * ms, Max: 24 * time.Hour, Step: ms},
				Warmup:   experiment.Durations{Default: 500 * ms, Max: time.Hour, Step: ms},
				Keys:     []string{"arrivals", "tls", "database_connections", "database_env", "front", "capture"},
			}},
			Runs:    "`nearfar engine database`, `nearfar engine app`, `nearfar-front`; see [app.md](app.md)",
			Systems: "Linux", Versions: "of this build, with PostgreSQL 14 or later",
			Prints: "response times of pages in s, with a histogram; their time in queries; 1/s; errors by kind",
		},
		install: installation{
			on: []string{linux}, apt: "postgresql", dnf: "postgresql-server", amazon: "postgresql15-server",
			azure: "postgresql", zypper: "postgresql-server", pacman: "postgresql", apk: "postgresql",
			source: "https://www.postgresql.org/download/",
		},
		parse: parseNative,
	}
}

// App is the caller of an application, its front and its database.
type App struct {
	secret string
	// variable reads the environment of the machine where nearfar runs.
	variable func(name string) (string, bool)
	// certificate makes the certificate of the databases of a run, once.
	certificate func() (pair, public []byte, err error)
}

// NewApp returns it as a tool. The database's password and the front's token are made of the secret.
func NewApp(secret string) Tool {
	made := sync.OnceValues(makeCertificate)
	return &App{secret: secret, variable: os.LookupEnv, certificate: func() (pair, public []byte, err error) {
		c, err := made()
		return c.pair, c.public, err
	}}
}

// Name is what an experiment file calls it.
func (*App) Name() string { return AppName }

// Probe asks this program for its version. PostgreSQL is looked for on the hosts that need it alone.
func (*App) Probe() Probe { return probe(nativeVersion, []string{host.Self}, host.Self, "version") }

// derived makes a secret for one purpose.
func (a *App) derived(purpose string) string {
	h := hmac.New(sha256.New, []byte(a.secret))
	h.Write([]byte(purpose))
	return hex.EncodeToString(h.Sum(nil))
}

// Plan gives the command lines of one trial.
func (a *App) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(appProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	data := uint16(pair.Server.Ports().Data)
	o := &front.Options{
		Listen: "127.0.0.1:0", Token: a.derived("front"), Queries: cmp.Or(w.Queries, experiment.DefaultQueries),
		Parallel: max(w.Parallel, 1), Size: w.Response, PerRequest: w.DatabaseConnections == experiment.PerRequest,
		Pages: max(w.Concurrency, 1),
	}
	p := Plan{
		Expected: w.Warmup + w.Duration + appOverhead, Front: cmp.Or(w.Front, experiment.FrontClient),
		Database: w.OwnDatabase(),
	}
	var backend database.Backend
	listen := netip.AddrPortFrom(bind, data)
	if p.Front == experiment.FrontServer {
		o.Listen, listen = listen.String(), netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}),
			uint16(pair.Server.Ports().Control))
		dial, backend.Front = listen.Addr(), o
	}
	if w.OwnDatabase() {
		backend.Database, err = a.own(w, o, listen, netip.AddrPortFrom(dial, listen.Port()))
	} else {
		o.Database, err = a.users(w, dial)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	caller := front.Caller{Token: o.Token}
	argv := []string{host.Self, "engine", "app"}
	if p.Front == experiment.FrontServer {
		_, reach, err := pair.Addresses(w.IP)
		if err != nil {
			return Plan{}, err
		}
		argv = append(argv, netip.AddrPortFrom(reach, data).String())
	} else {
		caller.Front = o
	}
	argv = append(argv, "--duration", w.Duration.String(), "--warmup", w.Warmup.String(), "--concurrency",
		strconv.Itoa(max(w.Concurrency, 1)))
	if w.OfferedRate > 0 {
		argv = append(argv, "--rate", experiment.FormatPerSecond(w.OfferedRate), "--arrivals",
			cmp.Or(w.Arrivals, experiment.ConstantArrivals))
	}
	p.Client = Command{Argv: argv, Env: []string{process.Environment()}}
	if p.Client.Stdin, err = json.Marshal(caller); err != nil {
		return Plan{}, err
	}
	if backend == (database.Backend{}) {
		return p, nil
	}
	p.Server = &Command{Argv: []string{host.Self, "engine", "database"}}
	p.Ready = Ready{Protocol: experiment.TCP, Port: int(data)}
	p.Sockets = sockets(0, experiment.TCP, int(data))
	p.Server.Stdin, err = json.Marshal(backend)
	return p, err
}

// own is a PostgreSQL that nearfar starts. The front gets its URL.
func (a *App) own(w experiment.Workload, o *front.Options, listen, dial netip.AddrPort) (*database.Options, error) {
	d := &database.Options{Listen: listen, Password: a.derived("database"), Connections: o.Pages * o.Parallel}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(database.User, d.Password), Host: dial.String(), Path: database.Name,
		RawQuery: "sslmode=disable",
	}
	var err error
	if w.TLS {
		u.RawQuery = "sslmode=require" // the front checks the certificate
		d.Certificate, o.CA, err = a.certificate()
	}
	o.Database = u.String()
	return d, err
}

// users is the URL of the user's own database. Errors do not have it.
func (a *App) users(w experiment.Workload, server netip.Addr) (string, error) {
	text, set := a.variable(w.DatabaseEnv)
	if !set || text == "" {
		return "", fmt.Errorf("database_env: the environment variable %s is not set", w.DatabaseEnv)
	}
	address := server.String()
	if server.Is6() {
		address = "[" + address + "]"
	}
	text = strings.ReplaceAll(text, experiment.ServerPlace, address)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Hostname() == "" {
		return "", fmt.Errorf("database_env: the environment variable %s has no URL such as "+
			"postgres://USER:PASSWORD@HOST:5432/DATABASE", w.DatabaseEnv)
	}
	return text, nil
}

// Parse reads the JSON lines that the caller printed.
func (*App) Parse(out Output) (result.Measurement, error) { return parseEngine(AppName, out) }

// certified is a certificate in PEM: with its key, and alone.
type certified struct{ pair, public []byte }

// makeCertificate makes a certificate that signs itself, for as long as a run can take.
func makeCertificate() (c certified, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return c, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: front.ServerName}, DNSNames: []string{front.ServerName},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return c, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return c, err
	}
	c.public = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c.pair = append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), c.public...)
	return c, nil
}
