package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// maxFile is the largest size of a report, in bytes.
const maxFile = 1_500_000

func written(t testing.TB, d Data) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	inlineScript = regexp.MustCompile(`(?s)<script type="module">(.*?)</script>`)
	inlineStyle  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	reference    = regexp.MustCompile(`(?i)(src|href|action|xlink:href)\s*=\s*["']?\s*(https?:|//|/|file:)`)
)

// The file refers to nothing outside of it: its policy allows its own script and style by their hashes, and forbids the
// rest.
func TestWrite(t *testing.T) {
	d, _ := collected(t, small().write(t))
	page := written(t, d)
	if len(page) > maxFile {
		t.Errorf("the page has %d bytes, at most %d are allowed", len(page), maxFile)
	}
	policy := Policy(page)
	for _, want := range []string{"default-src 'none'", "connect-src 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy %q is too open", policy)
	}
	for name, found := range map[string][][]byte{
		"script-src": inlineScript.FindSubmatch(page), "style-src": inlineStyle.FindSubmatch(page),
	} {
		if len(found) != 2 {
			t.Fatalf("no inline element for %s", name)
		}
		sum := sha256.Sum256(found[1])
		want := name + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	if m := reference.Find(page); m != nil {
		t.Errorf("the page refers to %q", m)
	}
	for _, placeholder := range []string{placeTitle, placeSummary, placeData} {
		if bytes.Contains(page, []byte(placeholder)) {
			t.Errorf("%s was not replaced", placeholder)
		}
	}
}

// Hostile data cannot begin or end an element of the page, and does not make the file large.
func TestWriteHostileData(t *testing.T) {
	evil := "</script><script>alert(1)</script><!--\u2028\u2029\x1b[31m\x00 %DATA% %TITLE%"
	dir := small().write(t)
	raw, err := dir.WriteRaw("evil.client.out", append([]byte(evil), bytes.Repeat([]byte("A<"), 5<<20)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Append(result.Trial{
		Trial: 9999, Block: 1, Arm: "l2", Workload: "rr-1k", Tool: result.ToolVersion{Name: evil},
		Error: evil + strings.Repeat("x", 1<<20), Notes: []string{evil}, Facts: map[string]string{evil: evil},
		Commands: []string{evil}, Raw: []string{raw, evil},
	}); err != nil {
		t.Fatal(err)
	}
	d, _ := collected(t, dir)
	d.Name, d.Answer.Question = evil, evil
	page := written(t, d)
	if len(page) > maxFile {
		t.Errorf("the page has %d bytes", len(page))
	}
	if n := bytes.Count(page, []byte("<script")); n != 2 {
		t.Errorf("%d elements begin with <script, want the data and the program", n)
	}
	if bytes.Contains(page, []byte("alert(1)</script>")) || bytes.Contains(page, []byte("<!--")) {
		t.Error("the data was written as markup")
	}
	for _, bad := range []string{"\u2028", "\u2029", "\x1b", "\x00"} {
		data := page[bytes.Index(page, []byte(`id="data">`)):]
		data = data[:bytes.Index(data, []byte("</script>"))]
		if bytes.Contains(data, []byte(bad)) {
			t.Errorf("the data holds %q", bad)
		}
	}
}

// The page of a run in progress may send requests to its server, and holds no data.
func TestLiveAndBrowse(t *testing.T) {
	live, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	if p := Policy(live); !strings.Contains(p, "connect-src 'self'") || strings.Contains(p, "connect-src 'none'") {
		t.Errorf("policy %q", p)
	}
	if !bytes.Contains(live, []byte(`id="data"></script>`)) {
		t.Error("the live page holds data")
	}
	browse, err := Browse()
	if err != nil {
		t.Fatal(err)
	}
	if p := Policy(browse); !strings.Contains(p, "connect-src 'self'") {
		t.Errorf("policy %q", p)
	}
}

// If the pages are missing or were built from other sources, the error says how to build them.
func TestNotBuilt(t *testing.T) {
	if _, err := readFrom(fstest.MapFS{"dist/README": {}}, reportPage); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("%v", err)
	}
	err := fillIn(io.Discard, []byte("<html>"+placeTitle), "", "", nil)
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%v", err)
	}
	if err := Built(); err != nil {
		t.Errorf("%v", err)
	}
}

// Long texts from hosts are cut; figures stay the same.
func TestClippedAnswer(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	a := answer.Answer{
		Words: answer.Words{Verdict: "v", Findings: []answer.Finding{{Reason: long, Caution: long, Text: long}}},
		Figures: figures.Figures{
			Arms:        []figures.Figure{{Median: 1, Caution: long}},
			Failures:    &figures.Failures{Arms: []figures.FailureShare{{Failed: 5, Reason: long}}},
			Comparisons: []figures.Comparison{{Reason: strings.Repeat("\xff", 10<<20)}},
		},
		Objectives: []answer.Objective{{Rule: long, Reason: long, Said: long}},
		Ran:        answer.Ran{Settings: []answer.Settings{{Text: long, Set: []experiment.Setting{{Value: long}}}}},
		Environment: &environment.Environment{Kernel: long, CPU: long, CPUs: 2, Wire: long, Congestion: long,
			Limits: []string{long}},
		Warnings: []answer.Warning{{Message: long}},
	}
	c, err := clipped(a)
	if err != nil {
		t.Fatal(err)
	}
	message, reason := len(c.Warnings[0].Message), len(c.Comparisons[0].Reason)
	if message > maxText+50 || reason > 3*maxText+50 || c.Arms[0].Median != 1 {
		t.Errorf("%d and %d bytes", message, reason)
	}
	if all, err := json.Marshal(c); err != nil || len(all) > 20*(maxText+50) || c.Environment.CPUs != 2 ||
		c.Failures.Arms[0].Failed != 5 {
		t.Errorf("%d bytes: %v", len(all), err)
	}
	for _, text := range []string{
		a.Warnings[0].Message, a.Environment.Kernel, a.Findings[0].Text, a.Settings[0].Set[0].Value,
		a.Failures.Arms[0].Reason,
	} {
		if len(text) != len(long) {
			t.Error("the answer itself was changed")
		}
	}
}
