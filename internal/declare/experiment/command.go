package experiment

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/declare/result"
)

// Command is a program of the experiment's own as a workload: what runs on both hosts, and where its figures stand in
// its output.
type Command struct {
	// Client are the words of the program whose end is the end of a trial. Words can have placeholders; see
	// Placeholders.
	Client []string `json:"client"`
	// Server are the words of the program that runs beside it on the server's host. It is empty if what the client
	// speaks to runs there already.
	Server []string `json:"server,omitempty"`
	// Ready says when the server is ready.
	Ready CommandReady `json:"ready,omitzero"`
	// Metrics are the figures, in the order of the file.
	Metrics []CommandMetric `json:"metrics"`
}

// CommandReady says when a server is ready. One of TCP, UDP and Command is given, or none if there is no server.
type CommandReady struct {
	// TCP and UDP are the port that the server holds: a number, or a placeholder.
	TCP string `json:"tcp,omitempty"`
	UDP string `json:"udp,omitempty"`
	// Command are the words of a program on the server's host that ends with 0 when the server is ready.
	Command []string `json:"command,omitempty"`
	// Within is how long the server may take until then; nil for the runner's own limit.
	Within *time.Duration `json:"within,omitempty"`
}

// condition is what has to hold, without how long that may take.
func (r CommandReady) condition() CommandReady {
	r.Within = nil
	return r
}

// How long a server may take until it is ready.
const (
	minWithin = time.Second
	maxWithin = 10 * time.Minute
)

// CommandMetric is a figure of a program, and where it stands in the program's output. It has one of JSON, ExitTime,
// HDR, and Regex or Lines or both.
type CommandMetric struct {
	Name string `json:"name"`
	// JSON is a pointer (RFC 6901) into standard output, which is one JSON text, or has one in its last line.
	JSON string `json:"json,omitempty"`
	// Regex is an expression with one group, which is the figure. It is applied to standard output, and if nothing
	// matches there, to standard error. The last match counts; with Lines, each is an observation.
	Regex string `json:"regex,omitempty"`
	// ExitTime is how long the program ran, by the clock of its host.
	ExitTime bool `json:"exit_time,omitempty"`
	// Lines says that standard output has one observation a line.
	Lines bool `json:"lines,omitempty"`
	// HDR says that standard output has a histogram log of HdrHistogram.
	HDR bool `json:"hdr,omitempty"`
	// Unit is the unit in which the program prints the figure.
	Unit string `json:"unit,omitempty"`
	// Better is lower or higher. It is empty where the unit says it: times are better if they are lower, and rates if
	// they are higher.
	Better string `json:"better,omitempty"`
}

// Limits of a program and of its figures.
const (
	// MaxWords and MaxWordBytes bound one command line.
	MaxWords     = 256
	MaxWordBytes = 16 << 10
	// MaxCommandMetrics bounds how many figures a program has.
	MaxCommandMetrics = 32
	maxReader         = 500 // characters of an expression or a pointer
	maxIterations     = 1_000_000_000
)

// CommandExample is an example of the figures of a program.
const CommandExample = "metrics: {tps: {regex: 'tps = ([0-9.]+)', unit: /s}}"

// Observations says that the figure is a distribution, and not one value a trial.
func (m CommandMetric) Observations() bool { return m.Lines || m.HDR }

// Scale gives the base unit of the figure, and how many of these one unit of the program is.
func (m CommandMetric) Scale() (unit string, scale float64) {
	if m.ExitTime {
		return result.Seconds, 1
	}
	u, _ := printedUnit(m.Unit)
	return u.base, u.scale
}

// BetterIf says which values are better: result.BetterLower or result.BetterHigher.
func (m CommandMetric) BetterIf() string {
	unit, _ := m.Scale()
	switch {
	case m.Better != "":
		return m.Better
	case unit == result.PerSecond || unit == result.BitsPerSecond:
		return result.BetterHigher
	}
	return result.BetterLower
}

// aPrintedUnit is a unit in which programs print figures.
type aPrintedUnit struct {
	name, base string
	scale      float64
}

// printedUnits lists the units of figures of programs.
func printedUnits() []aPrintedUnit {
	const byteBits = 8
	return []aPrintedUnit{
		{"s", result.Seconds, 1}, {"ms", result.Seconds, 1e-3}, {"us", result.Seconds, 1e-6},
		{"ns", result.Seconds, 1e-9}, {"min", result.Seconds, 60},
		{"/s", result.PerSecond, 1}, {"/min", result.PerSecond, 1. / 60},
		{"bit/s", result.BitsPerSecond, 1}, {"kbit/s", result.BitsPerSecond, 1e3},
		{"Mbit/s", result.BitsPerSecond, 1e6}, {"Gbit/s", result.BitsPerSecond, 1e9},
		{"B/s", result.BitsPerSecond, byteBits}, {"kB/s", result.BitsPerSecond, byteBits * 1e3},
		{"MB/s", result.BitsPerSecond, byteBits * 1e6}, {"GB/s", result.BitsPerSecond, byteBits * 1e9},
		{"KiB/s", result.BitsPerSecond, byteBits << 10}, {"MiB/s", result.BitsPerSecond, byteBits << 20},
		{"GiB/s", result.BitsPerSecond, byteBits << 30},
		{"B", result.Bytes, 1}, {"kB", result.Bytes, 1e3}, {"MB", result.Bytes, 1e6}, {"GB", result.Bytes, 1e9},
		{"KiB", result.Bytes, 1 << 10}, {"MiB", result.Bytes, 1 << 20}, {"GiB", result.Bytes, 1 << 30},
		{"1", result.One, 1}, {"%", result.One, 1e-2},
	}
}

func printedUnit(name string) (aPrintedUnit, bool) {
	all := printedUnits()
	at := slices.IndexFunc(all, func(u aPrintedUnit) bool { return u.name == name })
	if at < 0 {
		return aPrintedUnit{base: result.One, scale: 1}, false
	}
	return all[at], true
}

// CommandUnits are the units of figures of programs, for the schema and for messages.
func CommandUnits() (names []string) {
	for _, u := range printedUnits() {
		names = append(names, u.name)
	}
	return names
}

// BetterWords are the values of the key better.
func BetterWords() []string { return []string{result.BetterLower, result.BetterHigher} }

// The placeholders in the words of a program.
const (
	// PlaceServer is the address of the server's host that the client dials, and PlaceBind the one that a server binds.
	// PlaceURL is PlaceServer as it stands in a URL: an IPv6 address in brackets.
	PlaceServer = "{server}"
	PlaceURL    = "{url}"
	PlaceBind   = "{bind}"
	// PlacePort and PlacePort2 are the first two of the ports for measuring on the server's host.
	PlacePort  = "{port}"
	PlacePort2 = "{port2}"
	// PlaceSeconds is the workload's duration in seconds, and PlaceIterations its iterations.
	PlaceSeconds    = "{seconds}"
	PlaceIterations = "{iterations}"
)

// Placeholders are the placeholders in the words of a program. Other words in braces stay as they are.
func Placeholders() []string {
	return []string{PlaceServer, PlaceURL, PlaceBind, PlacePort, PlacePort2, PlaceSeconds, PlaceIterations}
}

// OwnFigures lists the figures of the experiment's own programs, each once.
func (e *Experiment) OwnFigures() (all []CommandMetric) {
	for _, w := range e.Workloads {
		if w.Command == nil {
			continue
		}
		for _, m := range w.Command.Metrics {
			if !slices.ContainsFunc(all, func(o CommandMetric) bool { return o.Name == m.Name }) {
				all = append(all, m)
			}
		}
	}
	return all
}

// sameKind says whether figures of one name can stand in one column: they have one base unit, one better side, and
// both are observations or neither is.
func (m CommandMetric) sameKind(o CommandMetric) bool {
	mine, _ := m.Scale()
	its, _ := o.Scale()
	return mine == its && m.BetterIf() == o.BetterIf() && m.Observations() == o.Observations()
}

// checkOwnFigures checks that figures of one name are of one kind in all workloads.
func checkOwnFigures(c *Checker, workloads []Workload) {
	kinds := map[string]CommandMetric{}
	first := map[string]string{}
	for i, w := range workloads {
		if w.Command == nil {
			continue
		}
		for _, m := range w.Command.Metrics {
			if known, twice := kinds[m.Name]; twice && !known.sameKind(m) {
				c.wrong(AtValue("workloads", Item(i), "metrics", m.Name), "give it another name, or the same kind of unit, "+
					"better and observations", "figure %s is another kind of figure in workload %s", quote(m.Name),
					quote(first[m.Name]))
				continue
			}
			kinds[m.Name], first[m.Name] = m, w.Name
		}
	}
}

// Program names a program by the first of its words, without its folder.
func Program(words []string) string {
	if len(words) == 0 {
		return ""
	}
	name := words[0][strings.LastIndexAny(words[0], `/\`)+1:]
	if name == "" {
		return words[0]
	}
	return name
}

// checkClient checks the program whose end is the end of a trial.
func checkClient(c *Checker, _ ToolCapability, w Workload) {
	if w.Command == nil {
		if c.text == nil { // else its absence is reported
			c.wrong(AtKey("client"), "", "the workload has no program")
		}
		return
	}
	checkWords(c, "client", w.Command.Client)
	if w.Iterations == 0 && hasPlace(PlaceIterations, w.Command.Client, w.Command.Server) && c.sound("client", "server") {
		c.wrong(AtKey("client"), "add, for example, iterations: 1000", "the workload has no iterations for %s",
			PlaceIterations)
	}
	if w.Iterations != 0 && !hasPlace(PlaceIterations, w.Command.Client) && c.sound("client", "iterations") {
		c.wrong(AtKey("iterations"), "write "+PlaceIterations+" where the client takes their number, or leave it out",
			"the client has no place for iterations")
	}
}

// hasPlace says whether some word has a placeholder.
func hasPlace(place string, lines ...[]string) bool {
	return slices.ContainsFunc(lines, func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, place) })
	})
}

// checkWords checks a command line.
func checkWords(c *Checker, key string, words []string) {
	length := 0
	for _, word := range words {
		length += len(word)
	}
	switch {
	case len(words) == 0 || strings.TrimSpace(words[0]) == "":
		c.wrong(AtValue(key), "write, for example, "+key+": [redis-benchmark, -h, '{server}']", "%s names no program", key)
	case len(words) > MaxWords:
		c.wrong(AtValue(key), fmt.Sprintf("at most %d", MaxWords), "%s has %d words", key, len(words))
	case length > MaxWordBytes:
		c.wrong(AtValue(key), fmt.Sprintf("at most %d", MaxWordBytes), "%s has %d bytes", key, length)
	case strings.ContainsAny(words[0], "{}"):
		c.wrong(AtValue(key), "write the program's name or path", "%s: the program cannot be a placeholder", key)
	}
	for i, word := range words[:min(len(words), MaxWords)] {
		if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
			c.wrong(AtValue(key, Item(i)), "write plain text", "%s holds a control character", quote(word))
		}
	}
}

// checkServer checks the program on the server's host.
func checkServer(c *Checker, _ ToolCapability, w Workload) {
	if w.Command != nil && (len(w.Command.Server) > 0 || c.text == nil && w.Command.Server != nil) {
		checkWords(c, "server", w.Command.Server)
	}
}

// checkReady checks when the server is ready.
func checkReady(c *Checker, _ ToolCapability, w Workload) {
	if w.Command == nil || !c.sound("server", "ready") {
		return
	}
	r, in := w.Command.Ready, c.In("ready")
	given := 0
	for _, one := range []struct{ key, port string }{{"tcp", r.TCP}, {"udp", r.UDP}} {
		if one.port == "" {
			continue
		}
		given++
		n, err := strconv.Atoi(one.port)
		if one.port != PlacePort && one.port != PlacePort2 && (err != nil || n < 1 || n > 65535) {
			in.wrong(AtValue(one.key), "write 1 to 65535, or '"+PlacePort+"'", "%s is no port", quote(one.port))
		}
	}
	if r.Command != nil {
		given++
		checkWords(in, "command", r.Command)
	}
	if r.Within != nil {
		in.spans(AtValue("within"), "within", *r.Within, minWithin, maxWithin)
	}
	switch {
	case len(w.Command.Server) == 0 && (given > 0 || r.Within != nil):
		c.wrong(AtKey("ready"), "leave it out: what runs already is ready", "there is no server to wait for")
	case len(w.Command.Server) > 0 && given == 0:
		c.wrong(c.firstGiven("ready", "server"), "write, for example, ready: {tcp: '"+PlacePort+
			"'}, or ready: {command: [pg_isready, -p, '"+PlacePort+"']}", "nothing says when the server is ready")
	case given > 1:
		c.wrong(AtValue("ready"), "give one of tcp, udp and command", "ready has %d conditions", given)
	}
}

// checkMetrics checks the figures of a program.
func checkMetrics(c *Checker, _ ToolCapability, w Workload) {
	if w.Command == nil {
		return
	}
	all := w.Command.Metrics
	switch {
	case len(all) == 0 && c.sound("metrics"):
		c.wrong(AtValue("metrics"), "write, for example, "+CommandExample, "the program has no figures")
	case len(all) > MaxCommandMetrics: // bounds says it
		return
	}
	for i, m := range all {
		m.check(c)
		if slices.ContainsFunc(all[:i], func(o CommandMetric) bool { return o.Name == m.Name }) && c.text == nil {
			c.wrong(AtValue("metrics", m.Name), "keep one of them", "figure %s is here twice", quote(m.Name))
		}
	}
}

// check checks one figure.
func (m CommandMetric) check(c *Checker) {
	in := c.In("metrics", m.Name)
	if _, canonical := result.UnitOf(m.Name); canonical {
		in.wrong(AtKey(), "give it another name, for example, "+m.Name+"_seen",
			"%s is a figure that nearfar's own tools measure, and the program's may mean something else", m.Name)
	} else if !result.IsOwnName(m.Name) {
		in.wrong(AtKey(), "write lower-case letters, digits and _, and no statistic, for example, page_time",
			"%s is no name of a figure", quote(m.Name))
	}
	ways := 0
	for _, given := range []bool{m.JSON != "", m.ExitTime, m.HDR, m.Regex != "" || m.Lines} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		in.wrong(AtValue(), "give one of json, regex, lines, hdr and exit-time; regex and lines go together",
			"figure %s has %s", m.Name, map[bool]string{true: "no reader", false: "several readers"}[ways == 0])
	}
	m.checkReaders(in)
	m.checkUnit(in)
}

// checkReaders checks the pointer and the expression.
func (m CommandMetric) checkReaders(in *Checker) {
	for _, one := range []struct{ key, text string }{{"json", m.JSON}, {"regex", m.Regex}} {
		if n := len([]rune(one.text)); n > maxReader {
			in.wrong(AtValue(one.key), fmt.Sprintf("at most %d", maxReader), "%s has %d characters", one.key, n)
			return
		}
	}
	if m.JSON != "" && !isPointer(m.JSON) {
		in.wrong(AtValue("json"), "write, for example, /summary/latency/mean; in a name, ~1 stands for / and ~0 for ~",
			"%s is no JSON pointer", quote(m.JSON))
	}
	if m.Regex == "" {
		return
	}
	re, err := regexp.Compile(m.Regex)
	switch {
	case err != nil:
		in.wrong(AtValue("regex"), "the syntax is that of RE2", "regex: %s", strings.TrimPrefix(err.Error(),
			"error parsing regexp: "))
	case re.NumSubexp() != 1:
		in.wrong(AtValue("regex"), "put the figure alone into parentheses, as in 'tps = ([0-9.]+)'; (?:...) groups "+
			"without being one", "the expression has %d groups", re.NumSubexp())
	}
}

// isPointer says whether a text is a JSON pointer to a part of a document.
func isPointer(text string) bool {
	if !strings.HasPrefix(text, "/") {
		return false
	}
	for _, part := range strings.Split(text, "~")[1:] {
		if !strings.HasPrefix(part, "0") && !strings.HasPrefix(part, "1") {
			return false
		}
	}
	return true
}

// checkUnit checks the unit and the better side.
func (m CommandMetric) checkUnit(in *Checker) {
	u, known := printedUnit(m.Unit)
	switch {
	case m.ExitTime && m.Unit != "":
		in.wrong(AtKey("unit"), "leave it out", "exit-time has a unit of its own")
	case m.ExitTime:
	case m.Unit == "":
		in.wrong(AtValue(), "write the unit in which the program prints it: "+strings.Join(CommandUnits(), ", "),
			"figure %s has no unit", m.Name)
	case !known:
		in.wrong(AtValue("unit"), "known: "+strings.Join(CommandUnits(), ", "), "unknown unit %s", quote(m.Unit))
	case m.Better == "" && (u.base == result.Bytes || u.base == result.One):
		in.wrong(AtValue(), "write better: lower, or better: higher",
			"nothing says which values of %s are better", m.Name)
	}
	if m.Better != "" {
		in.word(AtValue("better"), "value of better", m.Better, BetterWords())
	}
}

// commandKey is for keys with a form of their own, which only programs of the experiment's own take.
func commandKey(k Key, part func(c Command) any) Key {
	k.fixed, k.read = sameMeasure, elsewhere
	k.taken = inKeys(k.Name)
	k.given = func(w Workload) bool { return w.Command != nil }
	k.parts = func(w Workload) []Part {
		if w.Command == nil {
			return []Part{{k.Name, k.Name, nil}}
		}
		return []Part{{k.Name, k.Name, part(*w.Command)}}
	}
	return k
}
