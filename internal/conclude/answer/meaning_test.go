package answer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/meaning"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// ofPages is an experiment of three arms with round trips, pages and a stream.
func ofPages(blocks int) *experiment.Experiment {
	return &experiment.Experiment{
		Name: "pages", Question: "How much longer?", Baseline: "near",
		Arms: []experiment.Arm{{Name: "near"}, {Name: "far"}, {Name: "farther"}},
		Workloads: []experiment.Workload{
			{Name: "rr", Tool: "native", Mode: experiment.RR}, {Name: "page", Tool: "http", Mode: experiment.HTTP},
			{Name: "bulk", Tool: "native", Mode: experiment.Stream},
		},
		Schedule: experiment.Schedule{Blocks: blocks, Seed: 5},
	}
}

// ofTrips makes the trials of pages that take a millisecond of work and so many round trips; change edits each.
func ofTrips(e *experiment.Experiment, trips float64, change func(*result.Trial)) []result.Trial {
	r := rand.New(rand.NewPCG(26, 4))
	trip := map[string]float64{"near": 20e-6, "far": 27.8e-6, "farther": 120e-6}
	bits := map[string]float64{"near": 8e9, "far": 4e9, "farther": 2e9}
	var trials []result.Trial
	for i, slot := range e.Slots() {
		around := func(v float64) float64 { return v * (1 + 0.002*r.NormFloat64()) }
		t := result.Trial{
			Trial: i + 1, Block: slot.Block, Deployment: slot.Deployment, Arm: slot.Arm, Workload: slot.Workload,
			Protocol: experiment.TCP,
		}
		seconds := func(metric, stat string, v float64) {
			t.Metrics = append(t.Metrics, result.Metric{Name: metric, Stat: stat, Unit: result.Seconds, Value: around(v)})
		}
		w, _ := e.Workload(slot.Workload)
		t.Tool.Name, t.Mode = w.Tool, w.Mode
		switch w.Mode {
		case experiment.HTTP:
			t.Definition = result.DefinitionHTTP
			seconds(result.ResponseTime, result.P50, 1e-3+trips*trip[slot.Arm])
		case experiment.CommandMode:
			t.Definition = "as printed by bench"
			seconds("took", "", 1e-3+trips*trip[slot.Arm])
		case experiment.Stream:
			t.Definition = result.DefinitionRate
			t.Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: around(bits[slot.Arm])}}
		default:
			t.Definition = result.DefinitionRTT
			seconds(result.RTT, result.P50, trip[slot.Arm])
		}
		if change != nil {
			change(&t)
		}
		trials = append(trials, t)
	}
	return trials
}

// meantOf is what the answer says of the first application.
func meantOf(t *testing.T, e *experiment.Experiment, trials []result.Trial) (Answer, meaning.Meaning) {
	t.Helper()
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if len(a.Meaning) == 0 {
		t.Fatal("nothing is said of an application")
	}
	return a, a.Meaning[0]
}

// The verdict ends with the application that is asked about, whatever comes first.
func TestMeaningOfTheQuestion(t *testing.T) {
	e := ofPages(12)
	shop := e.Workloads[1]
	shop.Name, shop.Question = "shop", "How much slower is the shop?"
	e.Workloads = append(e.Workloads, shop)
	a, _ := meantOf(t, e, ofTrips(e, 40, nil))
	_, told, found := strings.Cut(a.Also, "What it means: with farther, ")
	if !found || !strings.HasPrefix(told, "the median response of shop takes ") {
		t.Errorf("the verdict ends %q", a.Also)
	}
}

func TestMeaningOfRoundTrips(t *testing.T) {
	e := ofPages(12)
	a, m := meantOf(t, e, ofTrips(e, 40, nil))
	if m.Workload != "page" || m.Name() != "response_time p50" || m.RoundTrip != "rr" || m.RoundTripStat != result.P50 {
		t.Errorf("%+v", m)
	}
	if m.Slope == nil || !holds(m.Slope.Interval, 40) || m.Trips == nil || *m.Trips != 40 || m.Blocks != 12 {
		t.Fatalf("slope %+v, %v round trips", m.Slope, m.Trips)
	}
	// Half of the smallest round trip, 20 us, is a tenth of the largest difference, 100 us.
	if math.Abs(m.Tolerance-0.1) > 0.002 || !m.Others || m.Near || m.Between[0] > 36 || m.Between[1] < 44 {
		t.Errorf("tolerance %v, round trips %v, %+v", m.Tolerance, *m.Between, m)
	}
	if !holds(m.Intercept.Interval, 1e-3) {
		t.Errorf("what remains is %+v", m.Intercept)
	}
	for _, arm := range m.Arms {
		if !holds(arm.Worth.Interval, 40) || !holds(arm.Remains.Interval, 0) {
			t.Errorf("%+v", arm)
		}
	}
	if len(m.OffLine) != 3 || m.OffLine[0].Surely {
		t.Errorf("%+v", m.OffLine)
	}
	for _, part := range []string{"Where the median round trip of rr grows, the median response of page grows 39.9",
		" times as much: 40 (36 to 44) round trips explain it. With farther, 40 round trips leave ",
		" of 3.997 ms unexplained. Without any round trip, 0.99"} {
		if !strings.Contains(m.Text, part) {
			t.Errorf("%q lacks %q", m.Text, part)
		}
	}
	for _, part := range []string{"What it means: with farther, the median response of page takes ",
		" longer, and a round trip 100", " us longer: over all arms, as if it waited for 40 (36 to 44) round trips."} {
		if !strings.Contains(a.Also, part) || !strings.Contains(a.Verdict, part) {
			t.Errorf("%q lacks %q", a.Verdict, part)
		}
	}
	e.AskedAbout = "far"
	if a, _ := meantOf(t, e, ofTrips(e, 40, nil)); !strings.Contains(a.Also, "What it means: with far, ") {
		t.Errorf("%q", a.Also)
	}
}

func holds(i figures.Interval, v float64) bool { return i != nil && i[0] <= v && v <= i[1] }

// TestAddedByTripsAndBytes: the calculator gets what each round trip and each byte takes longer.
func TestAddedByTripsAndBytes(t *testing.T) {
	e := ofPages(12)
	a, _ := meantOf(t, e, ofTrips(e, 1, nil))
	if a.Added == nil || a.Added.RoundTrip != "rr" || a.Added.Stream != "bulk" || a.Added.Confidence != 0.975 {
		t.Fatalf("%+v", a.Added)
	}
	for i, want := range [][2]float64{{7.8e-6, 1e-9}, {100e-6, 3e-9}} { // 8 bits at 4 and 2 Gbit/s, less those at 8
		arm := a.Added.Arms[i]
		if !holds(arm.RoundTrip.Interval, want[0]) || !holds(arm.Byte.Interval, want[1]) {
			t.Errorf("%s: %+v, %+v, want %v", arm.Arm, arm.RoundTrip, arm.Byte, want)
		}
	}
	e.Workloads = e.Workloads[:2]
	a, _ = meantOf(t, e, ofTrips(e, 1, nil))
	if a.Added.Stream != "" || a.Added.Confidence != 0.95 || a.Added.Arms[0].Byte != nil {
		t.Errorf("%+v", a.Added)
	}
}

func TestNothingIsMeant(t *testing.T) {
	silent := func(name string, e *experiment.Experiment, change func(*result.Trial), reason string) {
		t.Run(name, func(t *testing.T) {
			a, m := meantOf(t, e, ofTrips(e, 3, change))
			if m.Slope != nil || !strings.Contains(m.Reason, reason) || m.Text != "Nothing is said of page: "+m.Reason+"." {
				t.Errorf("%+v", m)
			}
			if strings.Contains(a.Verdict, "What it means") || a.Added != nil {
				t.Errorf("%q, %+v", a.Verdict, a.Added)
			}
		})
	}
	silent("no arm differs", ofPages(12), func(t *result.Trial) {
		if t.Workload == "rr" {
			t.Metrics[0].Value = 20e-6 + 1e-7*float64(t.Trial%7)
		}
	}, "no arm's round trip in rr is surely another than with near")
	silent("few blocks", ofPages(5), nil, "no arm's round trip in rr is surely another than with near")
	set := ofPages(12)
	for i := range set.Arms[1:] {
		set.Arms[i+1].Set = []experiment.Setting{{Key: "connect", Value: experiment.PerRequest, Workloads: []string{"page"}}}
		page := set.Workloads[1]
		page.Connect = experiment.PerRequest
		set.Arms[i+1].Workloads = []experiment.Workload{page}
	}
	silent("the arms set the application", set, nil, "far is left out: it sets connect of page")

	for name, change := range map[string]func(e *experiment.Experiment){
		"no application": func(e *experiment.Experiment) { e.Workloads = e.Workloads[:1] },
		"no round trips": func(e *experiment.Experiment) { e.Workloads = e.Workloads[1:] },
		"connections":    func(e *experiment.Experiment) { e.Workloads[0].Mode = experiment.CRR },
		"one arm":        func(e *experiment.Experiment) { e.Arms = e.Arms[:1] },
	} {
		e := ofPages(12)
		change(e)
		a := Make(Input{Experiment: e, Trials: ofTrips(e, 3, nil), State: "complete"})
		if a.Meaning != nil || a.Added != nil {
			t.Errorf("%s: %+v, %+v", name, a.Meaning, a.Added)
		}
	}
}

// TestOwnRoundTripsComeFirst: nearfar's own round trips are taken before those of a tool that stands earlier in the
// file, and that one's if there are no others.
func TestOwnRoundTripsComeFirst(t *testing.T) {
	e := ofPages(12)
	e.Workloads = append([]experiment.Workload{{Name: "echo", Tool: "ping", Mode: experiment.Ping}}, e.Workloads...)
	if _, m := meantOf(t, e, ofTrips(e, 1, nil)); m.RoundTrip != "rr" {
		t.Errorf("the round trips are those of %s", m.RoundTrip)
	}
	e.Workloads = append(e.Workloads[:1:1], e.Workloads[2:]...)
	if _, m := meantOf(t, e, ofTrips(e, 1, nil)); m.RoundTrip != "echo" {
		t.Errorf("the round trips are those of %s", m.RoundTrip)
	}
}

// TestMeaningOfACommand: a program's own time is an application's.
func TestMeaningOfACommand(t *testing.T) {
	e := ofPages(12)
	e.Workloads[1] = experiment.Workload{Name: "bench", Tool: "command", Mode: experiment.CommandMode}
	_, m := meantOf(t, e, ofTrips(e, 2000, nil))
	if m.Workload != "bench" || m.Slope == nil || !holds(m.Slope.Interval, 2000) {
		t.Errorf("%+v", m)
	}
}

// TestArmOffTheLine: an arm that takes longer by something else than round trips is named, and what remains is said.
func TestArmOffTheLine(t *testing.T) {
	e := ofPages(12)
	e.Arms = append(e.Arms, experiment.Arm{Name: "filtered"})
	trials := ofTrips(e, 2, nil)
	for i := range trials {
		switch t := &trials[i]; {
		case t.Arm != "filtered":
		case t.Workload == "rr":
			t.Metrics[0].Value = 60e-6 * (1 + 0.002*float64(t.Block%5))
		case t.Workload == "page":
			t.Metrics[0].Value = 1e-3 + 2*60e-6 + 300e-6 + 1e-6*float64(t.Block%4)
		case t.Workload == "bulk":
			t.Metrics[0].Value = 1e9
		}
	}
	_, m := meantOf(t, e, trials)
	last := m.OffLine[len(m.OffLine)-1]
	if last.Arm != "filtered" || !last.Surely || math.Abs(last.Value-300e-6) > 20e-6 ||
		!strings.Contains(m.Text, "do not lie on one line: filtered lies ") || !strings.Contains(m.Text, " us above that of") {
		t.Errorf("%+v: %q", m.OffLine, m.Text)
	}
}

// TestMeaningOfDeployments: the deployment is the unit, and fewer than six have no interval.
func TestMeaningOfDeployments(t *testing.T) {
	for deployments, known := range map[int]bool{3: false, 7: true} {
		e := ofPages(4)
		e.Schedule.Deployments = deployments
		_, m := meantOf(t, e, ofTrips(e, 40, nil))
		if !m.PerDeployment || (m.Slope != nil) != known {
			t.Errorf("%d deployments: %+v", deployments, m)
		}
		if known && (m.Blocks != deployments || !holds(m.Slope.Interval, 40)) {
			t.Errorf("%+v", m)
		}
	}
}

func TestObjectivesOfAMeaning(t *testing.T) {
	e := ofPages(12)
	for _, test := range []struct {
		verdicts, want string
	}{
		{"", ")"}, {"met met", "; no objective fails"}, {"met missed", "; 1 of 2 objectives fails"},
		{"missed missed", "; 2 of 2 objectives fail"}, {"met undecided", "; no objective surely fails, and 1 of 2 is undecided"},
	} {
		a, _ := meantOf(t, e, ofTrips(e, 40, nil))
		var all []Objective
		for _, verdict := range strings.Fields(test.verdicts) {
			all = append(all, Objective{Verdict: verdict})
		}
		a.SetObjectives(all)
		for _, text := range []string{a.Also, a.Verdict} {
			if len(a.Objectives) != len(all) || !strings.HasSuffix(text, test.want+".") && test.want != ")" {
				t.Errorf("%q ends %q, want %q", test.verdicts, text, test.want)
			}
		}
	}
	plain := Answer{Words: Words{Also: "Else."}}
	if plain.SetObjectives([]Objective{{Verdict: Met}}); plain.Also != "Else." {
		t.Errorf("an answer without an application became %q", plain.Also)
	}
}

// TestSlopeHoldsTheRoundTrips: over wires of 0, 50 and 500 us, for requests of one, two and three round trips, the
// interval holds the number. The rate of that is in the tests of the statistics.
func TestSlopeHoldsTheRoundTrips(t *testing.T) {
	for _, trips := range []float64{1, 2, 3, 10} {
		t.Run(fmt.Sprint(trips), func(t *testing.T) {
			e := ofPages(12)
			_, m := meantOf(t, e, ofTrips(e, trips, nil))
			if !holds(m.Slope.Interval, trips) || m.Trips == nil || float64(*m.Trips) != trips {
				t.Errorf("%+v", m.Slope)
			}
		})
	}
}

// TestNearlyAWholeNumber: hosts that wait longer are slower afterwards, so a slope that is close to a whole number is
// explained by it, and one that is not is not.
func TestNearlyAWholeNumber(t *testing.T) {
	for trips, want := range map[float64]string{
		2.02: ": 2 round trips explain it to within 1.0 %. With farther, 2 round trips leave +2.000 us (1.998 to 2.002 us) of " +
			"202.0 us unexplained: hosts that wait longer answer later, for which up to 10.0 % are allowed. ",
		1.98: ": 2 round trips explain it to within 1.0 %. With farther, 2 round trips leave -2.000 us (-2.002 to -1.998 us) of " +
			"198.0 us unexplained: ",
		2.3: "grows 2.300 (2.300 to 2.300) times as much: no whole number of round trips explains it. Without ",
		0:   "it may not grow at all.",
	} {
		e := ofPages(12)
		_, m := meantOf(t, e, ofTrips(e, trips, func(t *result.Trial) {
			if trips > 0 && (t.Workload == "rr" || t.Workload == "page") { // nearly without noise
				trip := map[string]float64{"near": 20e-6, "far": 27.8e-6, "farther": 120e-6}[t.Arm]
				t.Metrics[0].Value = trip + 1e-9*float64(t.Block*7%5)
				if t.Workload == "page" {
					t.Metrics[0].Value = 1e-3 + trips*trip + 1e-9*float64(t.Block*t.Trial%5)
				}
			}
		}))
		if m.Near != strings.Contains(want, "to within") || (m.Trips != nil) != m.Near || !strings.Contains(m.Text, want) {
			t.Errorf("%v: %+v, %q", trips, m.Slope, m.Text)
		}
	}
}

// overWires are trials over wires of 0, 50 and 500 us; took is what rr and a page measure if the path takes so long.
func overWires(e *experiment.Experiment, took func(t *result.Trial, path float64) float64) []result.Trial {
	path := map[string]float64{"near": 40e-6, "far": 140e-6, "farther": 1040e-6}
	return ofTrips(e, 0, func(t *result.Trial) {
		if t.Workload == "rr" || t.Workload == "page" {
			t.Metrics[0].Value = took(t, path[t.Arm])
		}
	})
}

// TestTripsWhereHostsSleep: over wires, the hosts of rr answer 12 us later once they sleep, and those of a page do not,
// or the other way round. No noise hides that: an interval that has the noise alone excludes the number of round trips.
// But then the arms do not lie on one line either, so the interval of the slope holds it. The number is found, what is
// left is told, and no arm is called another path for it.
func TestTripsWhereHostsSleep(t *testing.T) {
	const later = 12e-6
	for trips := 1; trips <= 6; trips++ {
		for _, workload := range []string{"rr", "page"} {
			e := ofPages(12)
			_, m := meantOf(t, e, overWires(e, func(t *result.Trial, path float64) float64 {
				if t.Workload == workload && t.Arm != "near" {
					path += later
				}
				if t.Workload == "rr" {
					return path + 2e-9*float64(t.Block*7%5)
				}
				return 48e-6 + float64(trips)*(path+2e-9*float64(t.Block*t.Trial%5))
			}))
			if holds(m.Noise, float64(trips)) {
				t.Errorf("%d round trips, %s: %v tests nothing", trips, workload, *m.Noise)
			}
			if m.Trips == nil || *m.Trips != trips || m.Others || !m.Near || !holds(m.Between, float64(trips)) ||
				!holds(m.Slope.Interval, float64(trips)) {
				t.Errorf("%d round trips, %s: %v times, explained by %v: %q", trips, workload, *m.Slope.Interval, *m.Between, m.Text)
				continue
			}
			left := float64(trips) * later // with the sign of who answers later
			if workload == "rr" {
				left = -left
			}
			if a := m.Arms[1]; math.Abs(a.Remains.Value-left) > 1e-6 || strings.Contains(m.Text, "do not lie on one line") {
				t.Errorf("%d round trips, %s: %v s remain, want %v: %q", trips, workload, a.Remains.Value, left, m.Text)
			}
		}
	}
}

// TestNoTripsOfArmsOffTheLine: the noise excludes all whole numbers, but the arms differ from their line by so much
// that one of them may be it. The text does not say that none explains the slope.
func TestNoTripsOfArmsOffTheLine(t *testing.T) {
	e := ofPages(12)
	_, m := meantOf(t, e, overWires(e, func(t *result.Trial, path float64) float64 {
		if t.Workload == "rr" {
			return path + 2e-9*float64(t.Block*7%5)
		}
		page := 48e-6 + 2.3*path + 2e-9*float64(t.Block*t.Trial%5)
		if t.Arm == "far" {
			page += 50e-6
		}
		return page
	}))
	const want = "the interval is too wide to name a number of round trips"
	if m.Trips != nil || holds(m.Between, 2) || !holds(m.Slope.Interval, 2) || !strings.Contains(m.Text, want) {
		t.Errorf("%v, by noise %v: %q", *m.Slope.Interval, *m.Noise, m.Text)
	}
}

// TestNoTripsOfALargeDifference: over wires that are much longer than what hosts do, half a round trip is told from
// none.
func TestNoTripsOfALargeDifference(t *testing.T) {
	e := ofPages(12)
	a, m := meantOf(t, e, overWires(e, func(t *result.Trial, path float64) float64 {
		if t.Workload == "rr" {
			return path * (1 + 0.002*float64(t.Block*7%5))
		}
		return 1e-3 + 2.5*path*(1+0.002*float64(t.Block*t.Trial%5))
	}))
	if m.Trips != nil || m.Near || m.Others || m.Tolerance > 0.025 || !strings.Contains(m.Text, "no whole number") {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(a.Also, " longer: over all arms, 2.49") || !strings.HasSuffix(a.Also, ") times as much.") {
		t.Errorf("%q", a.Also)
	}
	for _, arm := range m.Arms {
		if arm.Remains != nil {
			t.Errorf("%+v", arm)
		}
	}
}

// TestTripsOfAWideInterval: a wide interval chooses no number of several, and names the only one.
func TestTripsOfAWideInterval(t *testing.T) {
	for _, test := range []struct {
		trips, scatter float64
		want           string
	}{
		{1, 0.1, ": 1 round trip explains it"}, {12, 0.5, ") times as much: 12 (11 to 13) round trips explain it."},
		{4, 1.5, ") times as much: the interval is too wide to name a number of round trips. Without"},
		{4, 9, "times as much: it may not grow at all."},
	} {
		e := ofPages(12)
		path := map[string]float64{"near": 40e-6, "far": 140e-6, "farther": 340e-6}
		a, m := meantOf(t, e, ofTrips(e, 0, func(t *result.Trial) {
			around := float64(t.Block*7%12)/11 - 0.5 // from -0.5 to 0.5, another in each block
			switch t.Workload {
			case "rr":
				t.Metrics[0].Value = path[t.Arm] + 1e-9*float64(t.Block*5%7)
			case "page":
				t.Metrics[0].Value = 9e-3 + (test.trips+test.scatter*around*2)*path[t.Arm]
			}
		}))
		if !strings.Contains(m.Text, test.want) || strings.Contains(test.want, "explain") != (m.Trips != nil) {
			t.Errorf("%v, scatter %v: %v of %v: %q", test.trips, test.scatter, m.Trips, *m.Slope.Interval, m.Text)
		}
		if m.Trips == nil && strings.Contains(a.Verdict, "explain") {
			t.Errorf("%q", a.Verdict)
		}
	}
}
