//go:build linux

package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
	"nearfar/internal/show/page/pagetest"
)

const lostFunction = "client: the virtual function enP1s1 carried 41 % of 120,000 packets, and the data path " +
	"switched during the trial; server: the virtual function enP1s1 carried 100 % of 120,000 packets"

// proofSample is a run with expectations: those of routed were all proved, one of vxlan was refuted in the trials of
// block 2 and unknown in those of block 5.
func proofSample() sample {
	s := sample{arms: []string{"l2", "routed", "vxlan"}, blocks: 8, rounds: 300, plain: true}
	s.change = func(t *result.Trial) {
		place := func(host string) *check.Place {
			return &check.Place{Host: host, Kernel: "6.8.0-1015-azure", Model: "EPYC", Device: "eth0",
				Driver: "hv_netvsc",
				Where:  &check.Where{Cloud: check.CloudAzure, InstanceType: "Standard_D4s_v5", Zone: "1"}}
		}
		t.Observed = &result.Sides[check.Place]{Client: place("vm-a"), Server: place("vm-b")}
		t.Counters = &result.Sides[check.Counters]{Client: &check.Counters{Devices: []check.DeviceCounters{
			{Name: "eth0", Own: map[string]uint64{"vf_tx_packets": 49200}}}}}
		if t.Arm == "l2" {
			return
		}
		accelerated := check.Judgement{Expectation: check.Expectation{Name: check.ExpectAccelerated, Value: true},
			Outcome: check.Proved, Evidence: "client: the virtual function enP1s1 carried 100 % of 120,000 packets"}
		switch {
		case t.Arm == "vxlan" && t.Block == 2:
			accelerated.Outcome, accelerated.Evidence = check.Refuted, lostFunction
		case t.Arm == "vxlan" && t.Block == 5:
			accelerated.Outcome, accelerated.Evidence = check.Unknown, "no counters were read"
		}
		t.Expect = []check.Judgement{accelerated, {
			Expectation: check.Expectation{Name: check.ExpectFact, Path: "settings.ipv4/tcp_ecn", Value: "2"},
			Outcome:     check.Proved, Evidence: "client: settings.ipv4/tcp_ecn is 2; server: it is 2"}}
	}
	return s
}

// prove fills in what an answer says about proofSample.
func prove(a *answer.Answer, trials []int) {
	over := func(e check.Expectation, outcome check.Outcome, evidence string) proof.ExpectationOver {
		return proof.ExpectationOver{Expectation: e, Outcome: outcome, Evidence: evidence, Proved: 8}
	}
	accelerated := check.Expectation{Name: check.ExpectAccelerated, Value: true}
	ecn := over(check.Expectation{Name: check.ExpectFact, Path: "settings.ipv4/tcp_ecn", Value: "2"}, check.Proved,
		"client: settings.ipv4/tcp_ecn is 2; server: it is 2")
	lost := over(accelerated, check.Refuted, lostFunction)
	lost.Proved, lost.Refuted, lost.Unknown, lost.NotProved = 6, 1, 1, trials
	a.Proof = []proof.ArmProof{
		{Arm: "routed", Outcome: check.Proved, Trials: 8, Expectations: []proof.ExpectationOver{
			over(accelerated, check.Proved, "client: the virtual function enP1s1 carried 100 % of 120,000 packets; "+
				"server: the virtual function enP1s1 carried 100 % of 120,000 packets"), ecn}},
		{Arm: "vxlan", Outcome: check.Refuted, Trials: 8, Expectations: []proof.ExpectationOver{lost, ecn}},
	}
	a.Unproved = "vxlan is not proved to be what it claims: accelerated-networking is refuted in 1 of 8 trials " +
		"and unknown in 1."
	place := func(host, model, zone string) []check.Place {
		return []check.Place{{Host: host, Kernel: "6.8.0-1015-azure", Model: model, Device: "eth0", Driver: "hv_netvsc",
			Where: &check.Where{Cloud: check.CloudAzure, InstanceType: "Standard_D4s_v5", Zone: zone}}}
	}
	const intel, amd = "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", "AMD EPYC 7763 64-Core Processor"
	a.Places = []environment.ArmPlaces{
		{Arm: "l2", Client: place("vm-a", intel, "1"), Server: place("vm-b", intel, "1")},
		{Arm: "routed", Client: place("vm-a", intel, "1"), Server: place("vm-c", intel, "2")},
		{Arm: "vxlan", Client: place("vm-a", intel, "1"), Server: append(place("vm-d", amd, "1"),
			place("vm-e", intel, "1")...)},
	}
	group, none, on := "/subscriptions/s/proximityPlacementGroups/near", "", true
	const asked = "az ppg show --ids near --include-colocation-status"
	a.ProviderAnswers = []environment.ProviderAnswer{
		{Arm: "l2", Side: "client", Cloud: check.CloudAzure, Instance: "vm-a", Provider: check.Provider{
			Commands: []string{"az vm show --ids vm-a", asked}, Group: &group, GroupColocation: "Aligned",
			Colocation: "Aligned", Accelerated: &on, Configured: "scale set pool"}},
		{Arm: "routed", Side: "server", Cloud: check.CloudAWS, Instance: "i-1", Deployments: []int{1, 3},
			Provider: check.Provider{Group: &none, Strategy: "cluster", State: "available",
				NetworkNodes: []string{"nn-1", "nn-2", "nn-3"}}},
		{Arm: "vxlan", Side: "server", Cloud: check.CloudGCP, Instance: "vm-d", Provider: check.Provider{
			Commands: []string{asked}, Topology: &check.Topology{Cluster: "c", Block: "b", Host: "h"},
			PhysicalHost: "/c/b/h", Problem: "gcloud: no login"}},
	}
	a.Differs = []environment.Differing{
		{Arm: "vxlan", Side: "server", Fact: "model", Name: "CPU", Baseline: intel, Value: amd, Matters: true},
		{Arm: "vxlan", Side: "server", Fact: "enslaved.driver", Name: "enslaved device's driver",
			Baseline: "mlx5_core", Value: "none", Matters: true},
		{Arm: "vxlan", Side: "server", Fact: "device.rings.rx", Name: "ring rx", Baseline: "1024", Value: "512"},
		{Arm: "routed", Side: "server", Fact: "where.zone", Name: "zone", Baseline: "1", Value: "2", Matters: true,
			Declared: true},
	}
	a.Warnings = append(a.Warnings,
		answer.Warning{Code: "arms-differ-in-machines", Arm: "vxlan", Message: "the machines differ from those of " +
			"l2, which alone can make a difference: the server's CPU " + intel + " -> " + amd},
		answer.Warning{Code: "expectation-refuted", Arm: "vxlan", Message: "accelerated-networking is refuted"})
}

// notProved are the numbers of the trials of a sample in which not all was proved.
func notProved(t *testing.T, d Data) (numbers []int) {
	t.Helper()
	for _, trial := range unpack[[]Trial](t, d.Trials) {
		if trial.Unproved != "" {
			numbers = append(numbers, trial.Trial)
		}
	}
	return numbers
}

// The page says for each arm what was expected and what came of it, with the evidence and in words; where client and
// server were; and what else differs. A trial that was not proved leads to its record.
func testProof(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, proofSample().write(t))
	trials := notProved(t, d)
	if len(trials) != 2 {
		t.Fatalf("trials %v are not proved, want 2 of them", trials)
	}
	prove(&d.Answer, trials)
	b.Show(t, written(t, d))

	var rows []string
	for _, text := range texts(t, b, "#expectations li[data-arm]") {
		rows = append(rows, strings.Join(strings.Fields(text), " "))
	}
	if len(rows) != 2 || !strings.Contains(rows[1], "\u2717refuted") || !strings.Contains(rows[0], "\u2713proved") ||
		!strings.Contains(rows[1], "refuted in 1, unknown in 1, proved in 6 of 8") ||
		!strings.Contains(rows[1], lostFunction) || !strings.Contains(rows[1], "fact settings.ipv4/tcp_ecn 2") ||
		!strings.Contains(rows[1], fmt.Sprintf("Not proved in trial %d, trial %d", trials[0], trials[1])) {
		t.Errorf("the expectations are %q", rows)
	}
	places := texts(t, b, "#places tbody tr")
	if len(places) != 7 || !strings.HasPrefix(places[0], "l2baselineclientvm-a1Standard_D4s_v5") ||
		!strings.Contains(places[5], "vm-d") {
		t.Errorf("the places are %q", places)
	}
	if heads := texts(t, b, "#places thead th"); !slices.Equal(heads, []string{"Arm", "Host", "Name", "Zone",
		"Instance type", "Kernel", "CPU", "Device"}) {
		t.Errorf("the columns of the places are %q", heads)
	}
	testProviders(t, b)
	differs := texts(t, b, "#what-differs table tbody tr")
	if len(differs) != 3 || !strings.Contains(differs[1], "driverchanges figuresmlx5_corenone") {
		t.Errorf("the differences are %q", differs)
	}
	if warnings := texts(t, b, "#proof .warnings li"); len(warnings) != 1 ||
		!strings.HasPrefix(warnings[0], "arms-differ-in-machines (vxlan)") {
		t.Errorf("the warnings are %q", warnings)
	}
	if said := texts(t, b, "#unproved"); len(said) != 1 || said[0] != d.Answer.Unproved {
		t.Errorf("the head says %q", said)
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#what-differs summary")))
	b.Until(t, `document.querySelectorAll("#what-differs table").length === 2`)

	b.Do(t, chromedp.Click(chromedp.CSS("#expectations button.link")))
	record := fmt.Sprintf(`#records [data-trial="%d"]`, trials[0])
	b.Do(t, chromedp.WaitReady(chromedp.CSS(record+" .expectations")))
	text := strings.Join(texts(t, b, record), "")
	if !strings.HasPrefix(text, fmt.Sprintf("trial %d: refuted", trials[0])) || !strings.Contains(text, lostFunction) ||
		!strings.Contains(text, "counted.devices.eth0.own.vf_tx_packets49200-") {
		t.Errorf("the record is %q", text)
	}
	// A verdict that is folded does not hide that an arm is not proved, and one that is not folded says it once.
	unproved := func(verdict string) int {
		d.Answer.Verdict = verdict
		b.Show(t, written(t, d))
		return len(texts(t, b, "#unproved"))
	}
	once := unproved("None. " + d.Answer.Unproved)
	if long := unproved(strings.Repeat("long ", 200) + d.Answer.Unproved); once != 0 || long != 1 {
		t.Errorf("the head says %d times and %d times what is not proved, want 0 and 1", once, long)
	}
	// An arm that the reader hides is not in the section.
	pagetest.Eval[int](t, b, `document.querySelectorAll(".chip")[1].click() ?? 0`)
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll("#expectations li[data-arm]").length`); n != 1 {
		t.Errorf("%d arms have expectations, want the one that is not hidden", n)
	}
	b.Do(t, chromedp.EmulateViewport(390, 844))
	if wide := pagetest.Eval[int](t, b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d pixels wide on a screen of 390", wide)
	}
	b.NoMessages(t)
}

// The page shows what the providers answered about each host, without columns that nothing fills, and the commands that
// asked, each once.
func testProviders(t *testing.T, b *pagetest.Tab) {
	t.Helper()
	want := []string{"Arm|Host|Deployments|Machine|Group|Strategy|State|Colocation of the group|" +
		"Colocation of the machine|Network nodes, nearest last|Topology|Physical host|" +
		"Accelerated networking configured|Not known",
		"l2baseline|client|-|azure vm-a|/subscriptions/s/proximityPlacementGroups/near|-|-|Aligned|Aligned|-|-|-|" +
			"on for scale set pool|-",
		"routed|server|1, 3|aws i-1|none|cluster|available|-|-|nn-1 / nn-2 / nn-3|-|-|-|-",
		"vxlan|server|-|gcp vm-d|-|-|-|-|-|-|cluster c, block b, host h|/c/b/h|-|gcloud: no login"}
	if got := append([]string{heads(t, b, "#providers")}, rows(t, b, "#providers")...); !slices.Equal(got, want) {
		t.Errorf("the providers' answers are %q, want %q", got, want)
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#providers summary")))
	b.Until(t, `document.querySelectorAll("#providers li").length > 0`)
	if got := texts(t, b, "#providers li"); !slices.Equal(got, []string{"az vm show --ids vm-a",
		"az ppg show --ids near --include-colocation-status"}) {
		t.Errorf("the commands are %q", got)
	}
}

// What hosts say about themselves is shown as text. Without expectations, places and differences there is no section.
func testHostileHosts(t *testing.T, b *pagetest.Tab) {
	evil := `<img src=x onerror="document.title='owned'">` + "\x1b[31m\u202e"
	s := proofSample()
	change := s.change
	s.change = func(trial *result.Trial) {
		change(trial)
		trial.Observed.Client.Kernel = evil
		trial.Counters.Client.Protocols = map[string]uint64{evil: 1}
		for i := range trial.Expect {
			trial.Expect[i].Evidence, trial.Expect[i].Outcome = evil, check.Outcome(evil)
		}
	}
	d, _ := collected(t, s.write(t))
	prove(&d.Answer, notProved(t, d))
	a := &d.Answer
	a.Unproved, a.Proof[0].Outcome = evil, check.Outcome(evil)
	for i := range a.Comparisons {
		a.Comparisons[i].Unproved = evil
	}
	e := &a.Proof[0].Expectations[0]
	e.Name, e.Value, e.Evidence, e.Outcome = evil, evil, evil, check.Outcome(evil)
	group := evil
	a.Places[0].Client[0] = check.Place{Host: evil, Node: evil, Kernel: evil, Model: evil, Device: evil, Driver: evil,
		Where: &check.Where{Zone: evil, ZoneID: evil, InstanceType: evil, PlacementGroup: &group, Problem: evil,
			Topology: &check.Topology{Host: evil}}}
	a.ProviderAnswers = []environment.ProviderAnswer{{Arm: "vxlan", Side: evil, Cloud: evil, Instance: evil,
		Provider: check.Provider{Commands: []string{evil}, Group: &group, Strategy: evil, State: evil,
			Colocation: evil, GroupColocation: evil, NetworkNodes: []string{evil}, PhysicalHost: evil, Problem: evil,
			Accelerated: new(bool), Configured: evil,
			Topology: &check.Topology{Cluster: evil}}}}
	a.Differs[0] = environment.Differing{Arm: "vxlan", Side: evil, Fact: evil, Name: evil, Baseline: evil, Value: evil}
	file := b.Show(t, written(t, d))
	const openAll = `document.querySelectorAll("details").forEach(e => e.open = true) ?? 0`
	pagetest.Eval[int](t, b, openAll)
	b.Do(t, chromedp.WaitReady(chromedp.CSS("#records details.record")))
	pagetest.Eval[int](t, b, openAll)
	b.Do(t, chromedp.WaitReady(chromedp.CSS("#records .expectations")))
	pagetest.Eval[int](t, b, openAll)
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll("img, iframe").length`); n != 0 {
		t.Errorf("%d elements were made from what hosts say", n)
	}
	text := pagetest.Eval[string](t, b, `document.querySelector("#page").textContent`)
	if strings.ContainsAny(text, "\x1b\u202e\x00") || strings.Count(text, "\u241b[31m\u27e8U+202E\u27e9") < 20 {
		t.Error("control characters are not shown as symbols")
	}
	if n := len(texts(t, b, "#expectations .judged.proved")); n != 2 {
		t.Errorf("%d outcomes are shown as proved, want those of 2 expectations", n)
	}
	b.NoRequests(t, file)

	plain, _ := collected(t, sample{arms: s.arms, blocks: 2, rounds: 300, plain: true}.write(t))
	b.Show(t, written(t, plain))
	if !pagetest.Eval[bool](t, b, `document.querySelector("#proof").hidden`) {
		t.Error("there is a section without anything to show")
	}
}
