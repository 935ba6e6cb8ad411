package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
)

// A limitCase is one workload at a limit of a capability: as lines of an experiment file, and as the change of the
// workload that the lines stand for.
type limitCase struct {
	name   string
	yaml   map[string]string
	change func(w *experiment.Workload)
	good   bool
	// own is a limit of nearfar's: the engine allows more.
	own bool
}

// limitCases makes cases just inside and just outside of every limit of a capability.
func limitCases(c experiment.Capability) []limitCase {
	cases := slices.Concat(sizeCases(c), timeCases(c), countCases(c), rateCases(c), socketCases(c))
	return append(cases, foreignKeyCases(c)...)
}

func bytesText(n int) string { return strconv.Itoa(n) + "B" }

// around gives the numbers just outside and inside of a range.
func around(r experiment.Range) map[int]bool {
	return map[int]bool{r.Min - 1: false, r.Min: true, r.Max: true, r.Max + 1: false}
}

func sizeCases(c experiment.Capability) (cases []limitCase) {
	if c.Request.Max > 0 {
		for n, good := range around(c.Request) {
			cases = append(cases, limitCase{name: "request", yaml: map[string]string{"request": bytesText(n)},
				good: good,
				change: func(w *experiment.Workload) {
					if w.Request = n; c.Response.Max > 0 && c.Mode != experiment.HTTP { // of which a request of 0 is a GET
						w.Response = n
					}
				}})
		}
	}
	if c.Response.Max > 0 {
		sizes, request := around(c.Response), c.Request.Max
		switch c.Reply {
		case experiment.ReplySame:
			request = 100
			sizes = map[int]bool{99: false, 100: true, 101: false}
		case experiment.ReplyAtMostRequest:
			request = 100
			sizes = map[int]bool{c.Response.Min - 1: false, c.Response.Min: true, 100: true, 101: false}
		}
		for n, good := range sizes {
			lines := map[string]string{"response": bytesText(n)}
			if c.Request.Max > 0 {
				lines["request"] = bytesText(request)
			}
			cases = append(cases, limitCase{name: "response", good: good, yaml: lines,
				change: func(w *experiment.Workload) { w.Request, w.Response = request, n }})
		}
	}
	if c.Message.Max > 0 {
		for n, good := range around(c.Message) {
			lines := map[string]string{"message": bytesText(n)}
			if c.Numbers["batch"].Max > 0 {
				lines["batch"] = "1"
			}
			if n == 0 && c.DefaultMessage == 0 {
				continue // in a workload, 0 stands for a size that the file does not say
			}
			cases = append(cases, limitCase{name: "message", yaml: lines, good: good,
				change: func(w *experiment.Workload) {
					w.Message, w.Batch = n, min(1, c.Numbers["batch"].Max)
				}})
		}
	}
	return cases
}

func timeCases(c experiment.Capability) (cases []limitCase) {
	interval := c.Interval.Max // so long that a window of a day has not too many
	durations := func(key string, limits experiment.Durations, own bool,
		set func(w *experiment.Workload, d time.Duration)) {
		values := map[time.Duration]bool{limits.Min: true, limits.Max: true, limits.Max + limits.Step: false,
			limits.Min + limits.Step/2: false}
		if limits.Min > 0 {
			values[limits.Min-limits.Step] = false
		}
		for d, good := range values {
			lines := map[string]string{key: experiment.FormatDuration(d)}
			if key == "duration" && interval > 0 {
				lines["interval"] = experiment.FormatDuration(min(interval,
					max(d.Truncate(c.Interval.Step), c.Interval.Min)))
			}
			if key == "interval" {
				lines["duration"] = experiment.FormatDuration(2 * c.Interval.Max)
			}
			if key == "interval" && d == limits.Min {
				lines["duration"] = "2s"
			}
			cases = append(cases, limitCase{name: key, yaml: lines, good: good, own: own,
				change: func(w *experiment.Workload) {
					set(w, d)
					for key, field := range map[string]*time.Duration{"interval": &w.Interval,
						"duration": &w.Duration} {
						if text, given := lines[key]; given {
							*field, _ = experiment.ParseDuration(text)
						}
					}
				}})
		}
	}
	if !slices.Contains(c.Keys, "steps") { // which say it
		durations("duration", c.Duration, true, func(w *experiment.Workload, d time.Duration) { w.Duration = d })
	}
	if c.Warmup.Max > 0 {
		durations("warmup", c.Warmup, true, func(w *experiment.Workload, d time.Duration) { w.Warmup = d })
	}
	if c.Interval.Max > 0 {
		durations("interval", c.Interval, false, func(w *experiment.Workload, d time.Duration) { w.Interval = d })
		for intervals, good := range map[int]bool{0: false, 1: true, c.MaxIntervals: true, c.MaxIntervals + 1: false} {
			duration, interval := time.Duration(max(1, intervals))*10*time.Millisecond, 10*time.Millisecond
			if intervals == 0 {
				interval += c.Interval.Step
			}
			cases = append(cases, limitCase{name: "intervals", good: good,
				yaml: map[string]string{"duration": experiment.FormatDuration(duration),
					"interval": experiment.FormatDuration(interval)},
				change: func(w *experiment.Workload) { w.Duration, w.Interval = duration, interval }})
		}
	}
	return cases
}

func countCases(c experiment.Capability) (cases []limitCase) {
	for key, limits := range c.Numbers {
		for n, good := range map[int]bool{-1: false, limits.Min: true, limits.Max: true, limits.Max + 1: false} {
			own := key == "connections" && (c.Mode == experiment.Stream || n < 0)
			cases = append(cases, limitCase{name: key, yaml: map[string]string{key: strconv.Itoa(n)}, good: good, own: own,
				change: func(w *experiment.Workload) { setNumber(w, key, n) }})
		}
	}
	if most := c.Numbers["batch"].Max; most > 0 {
		size := c.BatchBytes / most
		for n, good := range map[int]bool{size: true, size + 1: false} {
			cases = append(cases, limitCase{name: "batch of bytes", good: good,
				yaml:   map[string]string{"batch": strconv.Itoa(most), "message": bytesText(n)},
				change: func(w *experiment.Workload) { w.Batch, w.Message = most, n }})
		}
	}
	return cases
}

// setNumber sets the field of a workload whose name in JSON is the key.
func setNumber(w *experiment.Workload, key string, n int) {
	if err := json.Unmarshal(fmt.Appendf(nil, "{%q: %d}", key, n), w); err != nil {
		panic(err) // a number always fits
	}
}

func rateCases(c experiment.Capability) (cases []limitCase) {
	rates := map[float64]bool{c.Rate.Min / 2: false, c.Rate.Min: true, c.Rate.Max: true, c.Rate.Max * 2: false}
	if c.Rate.Step > 0 {
		rates[c.Rate.Min+c.Rate.Step/2] = false
	}
	switch c.Rate.Unit {
	case experiment.BitRate:
		for rate, good := range rates {
			cases = append(cases, limitCase{name: "rate", yaml: map[string]string{"rate": experiment.FormatRate(rate)},
				good:   good,
				change: func(w *experiment.Workload) { w.Rate = rate }})
		}
		connections := c.Numbers["connections"].Max
		least := c.Rate.MinEach * float64(connections)
		for rate, good := range map[float64]bool{least - 1: false, least: true} {
			cases = append(cases, limitCase{name: "rate of each", good: good,
				yaml: map[string]string{"rate": experiment.FormatRate(rate),
					"connections": strconv.Itoa(connections)},
				change: func(w *experiment.Workload) { w.Rate, w.Connections = rate, connections }})
		}
	case experiment.EventRate:
		for rate, good := range rates {
			cases = append(cases,
				limitCase{name: "rate", yaml: map[string]string{"rate": experiment.FormatPerSecond(rate)}, good: good,
					change: func(w *experiment.Workload) { w.OfferedRate = rate }})
		}
	}
	if !slices.Contains(c.Keys, "steps") {
		return cases
	}
	steps := func(name string, good, own bool, steps ...experiment.Step) {
		var texts []string
		for _, s := range steps {
			texts = append(texts, fmt.Sprintf("{rate: %s, for: %s}", experiment.FormatPerSecond(s.Rate),
				experiment.FormatDuration(s.For)))
		}
		cases = append(cases, limitCase{name: "steps, " + name, good: good, own: own,
			yaml: map[string]string{"steps": "[" + strings.Join(texts, ", ") + "]", "rate": ""},
			change: func(w *experiment.Workload) {
				w.OfferedRate, w.Steps, w.Duration = 0, steps, 0
				for _, s := range steps {
					w.Duration += s.For
				}
			}})
	}
	for rate, good := range rates {
		steps("rate", good, false, experiment.Step{Rate: rate, For: time.Second})
	}
	for d, good := range map[time.Duration]bool{c.Duration.Min - c.Duration.Step: false, c.Duration.Min: true,
		c.Duration.Max:                   true,
		c.Duration.Max + c.Duration.Step: false, c.Duration.Min + c.Duration.Step/2: false} {
		steps("for", good, true, experiment.Step{Rate: 1, For: d})
	}
	half := experiment.Step{Rate: 1, For: c.Duration.Max / 2}
	steps("together", true, true, half, half)
	steps("together", false, true, half, half, half)
	steps("count", true, true, slices.Repeat([]experiment.Step{{Rate: 1, For: time.Second}}, 100)...)
	steps("count", false, true, slices.Repeat([]experiment.Step{{Rate: 1, For: time.Second}}, 101)...)
	return cases
}

func socketCases(c experiment.Capability) (cases []limitCase) {
	add := func(name, value string, good, own bool, change func(w *experiment.Workload)) {
		cases = append(cases, limitCase{name: name, yaml: map[string]string{name: value}, good: good, own: own,
			change: change})
	}
	if slices.Contains(c.Keys, "dscp") {
		for n, good := range map[int]bool{-1: false, 0: true, 63: true, 64: false} {
			add("dscp", strconv.Itoa(n), good, false, func(w *experiment.Workload) { w.DSCP = n })
		}
	}
	if slices.Contains(c.Keys, "congestion") {
		for n, good := range map[int]bool{1: true, 15: true, 16: false} {
			name := strings.Repeat("x", n)
			add("congestion", name, good, false, func(w *experiment.Workload) { w.Congestion = name })
		}
		add("congestion", "BBR", false, true, func(w *experiment.Workload) { w.Congestion = "BBR" })
	}
	if c.Buffers.Max > 0 {
		for n, good := range around(c.Buffers) {
			own := n < c.Buffers.Min
			add("send_buffer", bytesText(n), good, own, func(w *experiment.Workload) { w.SendBuffer = n })
			add("receive_buffer", bytesText(n), good, own, func(w *experiment.Workload) { w.ReceiveBuffer = n })
		}
	}
	for _, wait := range []string{experiment.WaitBusyPoll, experiment.WaitEpoll, experiment.WaitSpin} {
		add("wait", wait, slices.Contains(c.Waits, wait), false, func(w *experiment.Workload) { w.Wait = wait })
	}
	if slices.Contains(c.Keys, "timestamps") {
		least := 16
		if c.Protocol == experiment.UDP {
			least += c.Response.Min
		}
		for n, good := range map[int]bool{least - 1: false, least: true} {
			cases = append(cases, limitCase{name: "timestamps", good: good,
				yaml:   map[string]string{"timestamps": "true", "response": bytesText(n)},
				change: func(w *experiment.Workload) { w.Timestamps, w.Response = true, n }})
		}
		cases = append(cases, limitCase{name: "timestamps", yaml: map[string]string{"timestamps": "true",
			"wait": "epoll"},
			change: func(w *experiment.Workload) { w.Timestamps, w.Wait = true, experiment.WaitEpoll }})
	}
	add("ip", "6", c.OnlyIPv4 == "", true, func(w *experiment.Workload) { w.IP = experiment.IPv6 })
	return cases
}

// foreignKeyCases give the keys that have no meaning in a capability.
func foreignKeyCases(c experiment.Capability) (cases []limitCase) {
	foreign := map[string]experiment.Range{}
	for _, declared := range Declared() {
		for _, other := range declared.Does {
			maps.Copy(foreign, other.Numbers)
		}
	}
	for key := range foreign {
		if _, taken := c.Numbers[key]; !taken {
			cases = append(cases, limitCase{name: "foreign " + key, yaml: map[string]string{key: "2"}, own: true,
				change: func(w *experiment.Workload) { setNumber(w, key, 2) }})
		}
	}
	on := true
	for _, key := range []struct {
		name, value string
		taken       bool
		change      func(w *experiment.Workload)
	}{
		{"request", "64B", c.Request.Max > 0, func(w *experiment.Workload) { w.Request = 64 }},
		{"response", "64B", c.Response.Max > 0, func(w *experiment.Workload) { w.Response = 64 }},
		{"message", "64B", c.Message.Max > 0, func(w *experiment.Workload) { w.Message = 64 }},
		{"rate", "1Mbit/s", c.Rate.Unit == experiment.BitRate, func(w *experiment.Workload) { w.Rate = 1e6 }},
		{"rate", "10/s", c.Rate.Unit == experiment.EventRate, func(w *experiment.Workload) { w.OfferedRate = 10 }},
		{"warmup", "1s", c.Warmup.Max > 0, func(w *experiment.Workload) { w.Warmup = time.Second }},
		{"interval", "10ms", c.Interval.Max > 0, func(w *experiment.Workload) { w.Interval = 10 * time.Millisecond }},
		{"send_buffer", "64KiB", c.Buffers.Max > 0, func(w *experiment.Workload) { w.SendBuffer = 64 << 10 }},
		{"receive_buffer", "64KiB", c.Buffers.Max > 0, func(w *experiment.Workload) { w.ReceiveBuffer = 64 << 10 }},
		{"arrivals", "poisson", slices.Contains(c.Keys, "arrivals"),
			func(w *experiment.Workload) { w.Arrivals = "poisson" }},
		{"direction", "both", slices.Contains(c.Keys, "direction"),
			func(w *experiment.Workload) { w.Direction = "both" }},
		{"zerocopy", "true", slices.Contains(c.Keys, "zerocopy"), func(w *experiment.Workload) { w.ZeroCopy = true }},
		{"timestamps", "true", slices.Contains(c.Keys, "timestamps"),
			func(w *experiment.Workload) { w.Timestamps = true }},
		{"inside", "true", slices.Contains(c.Keys, "inside"), func(w *experiment.Workload) { w.Inside = true }},
		{"capture", "true", slices.Contains(c.Keys, "capture"), func(w *experiment.Workload) { w.Capture = true }},
		{"congestion", "reno", slices.Contains(c.Keys, "congestion"),
			func(w *experiment.Workload) { w.Congestion = "reno" }},
		{"nodelay", "true", slices.Contains(c.Keys, "nodelay"), func(w *experiment.Workload) { w.NoDelay = &on }},
		{"dscp", "8", slices.Contains(c.Keys, "dscp"), func(w *experiment.Workload) { w.DSCP = 8 }},
		{"background", "{}", slices.Contains(c.Keys, "background"),
			func(w *experiment.Workload) { w.Background = &experiment.Workload{} }},
	} {
		if !key.taken {
			cases = append(cases, limitCase{name: "foreign " + key.name, yaml: map[string]string{key.name: key.value},
				change: key.change, own: true})
		}
	}
	return cases
}

// readWorkload reads a file with one workload, of the capability's defaults and the given lines.
func readWorkload(tool string, c experiment.Capability, lines map[string]string) (experiment.Workload, error) {
	all := map[string]string{"tool": tool, "mode": c.Mode, "protocol": c.Protocol}
	if c.Mode == experiment.Load {
		all["rate"] = "10/s"
	}
	if c.Mode == experiment.CommandMode {
		all["client"], all["iterations"], all["metrics"] = "[x, '{iterations}']", "1", "{took: exit-time}"
	}
	for key, value := range lines {
		if all[key] = value; value == "" {
			delete(all, key)
		}
	}
	file := "nearfar: v1\nname: x\narms: {a: {lab: {path: [bridge]}}}\nworkloads:\n  - name: w\n"
	for key, value := range all {
		if key == "protocol" && tool == c.Mode {
			continue // ping has one
		}
		file += "    " + key + ": " + value + "\n"
	}
	e, err := experimentfile.Parse("limits.yaml", []byte(file), Declared())
	if err != nil {
		return experiment.Workload{}, err
	}
	return e.Workloads[0], nil
}

// askEngine says what the engine itself refuses of a workload.
func askEngine(w experiment.Workload) error {
	p, err := nativeParams(w)
	if err != nil || w.Mode != experiment.Load {
		return err
	}
	load := session.Load{Schedule: timing.Schedule{
		Arrivals: w.Arrivals, Steps: []timing.Step{{Rate: w.OfferedRate, Length: w.Duration}},
	}}
	if len(w.Steps) > 0 {
		load.Schedule.Steps = nil
	}
	for _, s := range w.Steps {
		load.Schedule.Steps = append(load.Schedule.Steps, timing.Step{Rate: s.Rate, Length: s.For})
	}
	return load.Validate(p)
}

// The reader of experiment files, each tool's plan and the engine agree on every limit: values just inside are accepted
// by all, and values just outside are refused by all. The reader says the place.
func TestReaderAndPlansAgreeOnEveryLimit(t *testing.T) {
	tools := All("secret")
	pair := at("10.0.0.2", "fd00::2")
	cases, refused := 0, 0
	for _, declared := range Declared() {
		for _, c := range declared.Does {
			one, ok := tools.Lookup(declared.Name)
			if !ok {
				t.Fatalf("%s is declared and does not run", declared.Name)
			}
			base, err := readWorkload(declared.Name, c, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range limitCases(c) {
				what := fmt.Sprintf("%s %s over %s, %s %v", declared.Name, c.Mode, c.Protocol, k.name, k.yaml)
				w := base
				k.change(&w)
				_, read := readWorkload(declared.Name, c, k.yaml)
				_, planned := one.Plan(w, pair)
				if cases++; !k.good {
					refused++
				}
				if (read == nil) != k.good || (planned == nil) != k.good {
					t.Errorf("%s: want accepted %v; the reader says %v, the plan %v", what, k.good, read, planned)
				}
				if read != nil && !strings.HasPrefix(read.Error(), "limits.yaml:") {
					t.Errorf("%s: no place in %v", what, read)
				}
				if declared.Name != nativeName {
					continue
				}
				asked := askEngine(w)
				if wider := k.own && asked == nil; (asked == nil) != k.good && !wider {
					t.Errorf("%s: want accepted %v; the engine says %v", what, k.good, asked)
				}
			}
		}
	}
	if cases < 500 || refused < 250 {
		t.Errorf("%d cases, of which %d are refused: too few to be all limits", cases, refused)
	}
	t.Logf("%d cases, of which %d are refused", cases, refused)
}
