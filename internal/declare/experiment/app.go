package experiment

import "slices"

// Pages says what a page of an application takes of its database, and where its parts are (app).
type Pages struct {
	// Queries is how many queries a page takes, and Parallel how many of them are under way at once.
	Queries  int `json:"queries,omitempty"`
	Parallel int `json:"parallel,omitempty"`
	// DatabaseConnections says how long connections to the database stay: pooled or per-request.
	DatabaseConnections string `json:"database_connections,omitempty"`
	// DatabaseEnv is the variable of nearfar's environment with the URL of a database of the user's; empty for a
	// PostgreSQL that nearfar starts on the server's host.
	DatabaseEnv string `json:"database_env,omitempty"`
	// Front is the host on which the front runs: client or server.
	Front string `json:"front,omitempty"`
}

// The words of app.
const (
	// Pooled keeps connections to the database open; with PerRequest each page opens its own.
	Pooled = "pooled"
	// FrontClient and FrontServer are the hosts on which a front can run.
	FrontClient = "client"
	FrontServer = "server"
)

// The limits of app.
const (
	// DefaultQueries is how many queries a page takes.
	DefaultQueries = 10
	// MaxQueries bounds the queries of a page, and MaxParallel those that are under way at once.
	MaxQueries  = 1000
	MaxParallel = 100
	// MaxDatabaseConnections bounds the connections of one front: concurrency times parallel.
	MaxDatabaseConnections = 400
)

func databaseConnectionWords() []string { return []string{Pooled, PerRequest} }

func frontWords() []string { return []string{FrontClient, FrontServer} }

// AsksPages says that the workload asks for pages of HTTP: of http or of app.
func (w Workload) AsksPages() bool { return w.Mode == HTTP || w.Mode == App }

// OwnDatabase says that nearfar starts the workload's database.
func (w Workload) OwnDatabase() bool { return w.Mode == App && w.DatabaseEnv == "" }

func queriesKey() Key {
	return number(func(w *Workload) *int { return &w.Queries }, DefaultQueries, Key{
		Name: "queries", Column: true,
		About: "How many queries of the database a page takes, one after the other unless parallel says otherwise " +
			"({{WhoTakes}}). Default: 10.",
	})
}

func parallelKey() Key {
	k := number(func(w *Workload) *int { return &w.Parallel }, 1, Key{
		Name: "parallel", Column: true,
		About: "How many queries of a page are under way at once, each on a connection of its own ({{WhoTakes}}). " +
			"Default: 1.",
	})
	within := k.check
	k.check = func(c *Checker, can ToolCapability, w Workload) {
		within(c, can, w)
		if can.Mode == App && c.sound("parallel", "concurrency") {
			checkParallel(c, w)
		}
	}
	return k
}

// checkParallel checks the queries that are under way at once.
func checkParallel(c *Checker, w Workload) {
	if n := max(w.Parallel, 1) * max(w.Concurrency, 1); n > MaxDatabaseConnections {
		c.wrong(c.firstGiven("parallel", "concurrency"), "make parallel or concurrency smaller",
			"parallel and concurrency make %d connections to the database: at most %d", n, MaxDatabaseConnections)
	}
}

func databaseConnectionsKey() Key {
	return words(func(w *Workload) *string { return &w.DatabaseConnections }, databaseConnectionWords(), Key{
		Name: "database_connections",
		About: "pooled: connections to the database stay, and are open before the window. per-request: each page opens " +
			"its own, and closes them ({{WhoTakes}}). Default: pooled.",
	})
}

func databaseKey() Key {
	return valued(func(w *Workload) *string { return &w.DatabaseEnv }, always(""),
		func(in Values, _ ToolCapability, into *string) bool {
			return in.Text("database_env", "DATABASE_URL", into)
		}, orNotSet, Key{
			Name: "database_env", Shape: shaped(`"type": "string", "pattern": "` + variablePattern + `"`),
			check: checkDatabase,
			About: "The environment variable with the URL of a PostgreSQL of your own, such as " +
				"postgres://USER:PASSWORD@{server}:5432/DATABASE ({{WhoTakes}}). It is read where nearfar runs, and is in " +
				"no record. {server} in it is the address of the arm's server. Default: nearfar starts PostgreSQL on the " +
				"server's host. See docs/app.md.",
		})
}

// checkDatabase checks what is said of the user's own database.
func checkDatabase(c *Checker, _ ToolCapability, w Workload) {
	checkArrivals(c, w)
	if w.DatabaseEnv == "" && !c.given("database_env") {
		return
	}
	checkVariable(c, AtValue("database_env"), w.DatabaseEnv)
	if w.TLS || c.given("tls") {
		c.wrong(AtKey("tls"), "write sslmode=verify-full into the URL", "the URL of the database says whether there is TLS")
	}
}

func frontKey() Key {
	return words(func(w *Workload) *string { return &w.Front }, frontWords(), Key{
		Name: "front",
		About: "The host on which the front runs, which answers pages ({{WhoTakes}}). client: beside the caller, so that " +
			"queries cross the path between the hosts. server: beside the database, so that pages cross it. Default: " +
			"client.",
	})
}

// checkCapture checks that what crosses the path of an application may be captured: queries of a database that nearfar
// starts. Their password is never sent (SCRAM).
func checkCapture(c *Checker, _ ToolCapability, w Workload) {
	switch {
	case !w.Capture || w.Mode != App:
	case w.Front == FrontServer:
		c.wrong(AtKey("capture"), "leave out capture, or front: server",
			"every page carries the secret that lets it in, and a capture would keep that")
	case !w.OwnDatabase():
		c.wrong(AtKey("capture"), "leave out capture, or database_env",
			"the packets of a database of yours are not captured: what they carry is yours")
	}
}

// pageModes are the modes whose requests are of HTTP.
func pageModes() []string { return []string{HTTP, App} }

// isPages says that a capability asks for pages of HTTP.
func (c ToolCapability) isPages() bool { return slices.Contains(pageModes(), c.Mode) }
