package file

import (
	"time"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// exitTime is the value of a figure that is how long the program ran.
const exitTime = "exit-time"

// command reads the program of a workload that runs one of the experiment's own.
func (r *reader) command(w *experiment.Workload, f fields, can experiment.ToolCapability) {
	if can.Mode != experiment.CommandMode {
		return
	}
	w.Command = &experiment.Command{}
	if v, ok := r.required(f, "client", "client: [redis-benchmark, -h, '{server}']"); ok {
		w.Command.Client = r.words(v.value, "client")
	}
	if v, ok := r.optional(f, "server"); ok && (v.value.Kind != yaml.ScalarNode || v.value.Value != "none") {
		w.Command.Server = r.words(v.value, "server")
	}
	if v, ok := r.optional(f, "ready"); ok {
		w.Command.Ready = r.ready(v)
	}
	if v, ok := r.required(f, "metrics", experiment.CommandExample); ok && r.isMapping(v.value, "metrics") {
		for key, value := range r.entries(v.value, "figure ", keepOne) {
			w.Command.Metrics = append(w.Command.Metrics, r.metric(key, value))
		}
	}
}

// words reads a command line.
func (r *reader) words(n *yaml.Node, what string) []string {
	if !r.isSequence(n, what, what+": [program, -option, value]") ||
		!r.most(n, "words", len(n.Content), experiment.MaxWords) {
		return nil
	}
	words := make([]string, len(n.Content))
	for i, word := range n.Content {
		words[i] = r.scalar(word, "a word of "+what, "'{server}'")
	}
	return words
}

// ready reads when a server is ready.
func (r *reader) ready(v field) (ready experiment.CommandReady) {
	f, ok := r.fields(v.value, v.key, "ready", experiment.KeysOf("ready"))
	if !ok {
		return ready
	}
	f.Word("tcp", experiment.PlacePort, &ready.TCP)
	f.Word("udp", experiment.PlacePort, &ready.UDP)
	if c, ok := r.optional(f, "command"); ok {
		ready.Command = r.words(c.value, "command")
	}
	var within time.Duration
	if experiment.Quantity(f, "within", "60s", experiment.ParseDuration, &within) {
		ready.Within = &within
	}
	return ready
}

// metric reads a figure, and where it stands in the program's output.
func (r *reader) metric(key, value *yaml.Node) experiment.CommandMetric {
	m := experiment.CommandMetric{Name: key.Value}
	if value.Kind == yaml.ScalarNode {
		if m.ExitTime = value.Value == exitTime; !m.ExitTime {
			r.wrong(value, "write "+exitTime+", or, for example, {json: /latency/mean, unit: ms}",
				"figure %s: %s is no reader", quote(m.Name), quote(value.Value))
		}
		return m
	}
	f, ok := r.fields(value, key, "figure "+quote(m.Name), experiment.KeysOf("metric"))
	if !ok {
		return m
	}
	f.Word("json", "/latency/mean", &m.JSON)
	f.Word("regex", "'tps = ([0-9.]+)'", &m.Regex)
	f.Truth("exit_time", &m.ExitTime)
	f.Truth("lines", &m.Lines)
	f.Truth("hdr", &m.HDR)
	f.Word("unit", "ms", &m.Unit)
	f.Word("better", experiment.BetterWords()[0], &m.Better)
	return m
}
