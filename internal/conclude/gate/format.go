package gate

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/prose"
	"nearfar/internal/declare/result"
)

// Formats lists the formats of Write, the default first.
func Formats() []string { return []string{"terminal", "markdown", "json", "junit", "github"} }

// Write prints the result in a format of Formats.
func Write(w io.Writer, r Result, format string, color bool) error {
	var text string
	switch format {
	case "", "terminal":
		text = terminal(r, color)
	case "markdown":
		text = markdown(r)
	case "github":
		text = github(r)
	case "junit":
		return junit(w, r)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	default:
		return fmt.Errorf("unknown format %q: use one of %s", format, strings.Join(Formats(), ", "))
	}
	// Each format makes its texts printable. This catches a field that was forgotten there.
	_, err := io.WriteString(w, clean.Text(text, color))
	return err
}

// title is the overall verdict in a word or two.
func (r *Result) title() string {
	switch {
	case r.Verdict == Fail, r.Verdict == Inconclusive && r.InconclusiveFails:
		return "FAILED"
	case r.Verdict == Inconclusive && !r.Unverifiable():
		return "INCONCLUSIVE"
	case r.Unverifiable():
		return "UNPROVED"
	case r.Verdict == Error:
		return "ERROR"
	}
	return "passed"
}

// label is the verdict of a check in tables.
func (c *Check) label() string {
	if c.Verdict == Pass {
		return "pass"
	}
	return strings.ToUpper(string(c.Verdict))
}

// subject names the subject of a check: "vxlan rr-1k rtt p99".
func (c *Check) subject() string {
	arm := c.Arm
	if c.Baseline != "" && c.Baseline != c.Arm {
		arm += " against " + c.Baseline
	}
	return arm + " " + c.Workload + " " + c.Name()
}

// limit is the bound: "> +5.00 %".
func (c *Check) limit() string {
	s := c.scale()
	text := s.Number(c.Bound)
	if c.Kind != Value {
		text = s.Signed(c.Bound)
	}
	operator := "<"
	switch {
	case c.Required && c.Above:
		operator = "must be <"
	case c.Required:
		operator = "must be >"
	case c.Above:
		operator = ">"
	}
	return operator + " " + s.With(text)
}

// found is the figure with its interval.
func (c *Check) found() string {
	if c.Estimate == nil {
		return "-"
	}
	s := c.scale()
	write := s.Number
	if c.Kind != Value {
		write = s.Signed
	}
	text := s.With(write(*c.Estimate))
	if c.Interval == nil {
		return text + " (no interval)"
	}
	return text + " " + c.Interval.Text(write)
}

// both names the medians of both sides: "medians 10.0 -> 11.0 us", or how often they failed.
func (c *Check) both() string {
	if c.Failed != nil {
		return "failed " + c.medians()
	}
	return "medians " + c.medians()
}

// medians are the medians of both sides, or how often they failed.
func (c *Check) medians() string {
	if c.Failed != nil {
		text := fmt.Sprintf("%d of %d", c.Failed[1], c.Attempts[1])
		if c.Kind != Value {
			text = fmt.Sprintf("%d of %d -> ", c.Failed[0], c.Attempts[0]) + text
		}
		return text
	}
	if c.New == nil {
		return "-"
	}
	if c.Base == nil || c.Kind == Value {
		return result.Amount(*c.New, c.Unit)
	}
	s := result.ScaleOf(c.Unit, *c.Base, *c.New)
	return s.Number(*c.Base) + " -> " + s.With(s.Number(*c.New))
}

// said is a check in a sentence.
func (c *Check) said() string {
	if c.Verdict == Error {
		return c.Reason
	}
	verb := "it fails"
	if c.Required {
		verb = "it"
	}
	text := fmt.Sprintf("%s (%s); %s %s", c.found(), c.both(), verb, c.limit())
	if sees := c.sees(); sees != "" {
		text += "; it " + sees
	}
	if remark := c.remark(); remark != "" {
		text += ": " + remark
	}
	return text
}

// remark is the reason of a check's verdict, and says which of its arms are not proved.
func (c *Check) remark() string {
	if c.Reason != "" && c.Unproved != "" {
		return c.Reason + "; " + c.Unproved
	}
	return c.Reason + c.Unproved
}

// confidences states the confidence of the intervals.
func (r *Result) confidences() string {
	text := ""
	for _, c := range r.Checks {
		switch {
		case c.Default:
			return strings.TrimSpace(text + " Failures are also checked where no rule is about them; such a check fails " +
				"only if the new side surely fails more often.")
		case c.Verdict != Error && text == "":
			text = fmt.Sprintf("Each interval has %.4g %% confidence, so that all of them hold at once with %.4g %%.",
				100*c.Confidence, 100*r.Confidence)
		}
	}
	return text
}

func (r *Result) warningLines() []string {
	var lines []string
	for _, w := range r.Warnings {
		lines = append(lines, w.Code+prose.InBrackets(strings.TrimSpace(w.Arm+" "+w.Workload))+": "+w.Message)
	}
	return lines
}

// width is the number of terminal columns used, and deep the indent of a check's details.
const (
	width = 80
	deep  = "                "
)

// terminal formats the result for people; it can be read without colour.
func terminal(r Result, color bool) string {
	paint := func(v Verdict, s string) string {
		colours := map[Verdict]string{Pass: clean.Green, Fail: clean.BoldRed, Error: clean.BoldRed,
			Inconclusive: clean.BoldYellow}
		if !color {
			return s
		}
		return colours[v] + s + clean.Reset
	}
	var b strings.Builder
	line := func(text, indent string) { b.WriteString(wrapped(text, indent)) }
	if r.Unverified != "" {
		line(r.Unverified, "")
	}
	verdict := r.Verdict
	if r.Unverifiable() {
		verdict = Fail // for the colour
	}
	b.WriteString("Gate: " + paint(verdict, r.title()) + "\n")
	if r.Headline != "" {
		line(r.Headline, "  ")
	}
	line(r.Summary, "  ")
	if r.Alone {
		line("RUN  "+r.New.Source, "  ")
	} else {
		line("BASE "+r.Base.Source, "  ")
		line("NEW  "+r.New.Source, "  ")
	}
	b.WriteString("\n")
	for _, c := range r.Checks {
		b.WriteString("  " + paint(c.Verdict, c.label()) + strings.Repeat(" ", max(0, 14-len(c.label()))))
		b.WriteString(strings.TrimLeft(wrapped(c.subject()+" "+c.limit(), deep), " "))
		if c.Verdict != Error {
			line(c.found()+", "+c.both(), deep)
			if sees := c.sees(); sees != "" {
				line(sees, deep)
			}
		}
		if c.Reason != "" {
			line(c.Reason, deep)
		}
		if c.Unproved != "" {
			line(c.Unproved, deep)
		}
	}
	if text := r.confidences(); text != "" {
		b.WriteString("\n")
		line(text, "  ")
	}
	if lines := r.warningLines(); len(lines) > 0 {
		b.WriteString("\nWarnings\n")
		for _, text := range lines {
			line("! "+text, "  ")
		}
	}
	return b.String()
}

// wrapped breaks text into lines. No line begins like a workflow command, also after spaces: a CI system that reads
// the output would execute it.
func wrapped(text, indent string) string {
	lines := strings.SplitAfter(prose.Wrap(clean.Line(text), indent, width), "\n")
	for i, line := range lines {
		if at := len(line) - len(strings.TrimLeft(line, " ")); strings.HasPrefix(line[at:], "::") {
			lines[i] = line[:at] + `\u003a` + line[at+1:]
		}
	}
	return strings.Join(lines, "")
}

// markdown formats the result for a page, a ticket or the summary of a CI job.
func markdown(r Result) string {
	text := func(s string) string { return prose.Markdown(clean.Line(s)) }
	var b strings.Builder
	if r.Unverified != "" {
		b.WriteString("**" + text(r.Unverified) + "**\n\n")
	}
	fmt.Fprintf(&b, "## Gate: %s\n\n", text(r.title()))
	if r.Headline != "" {
		b.WriteString("**" + text(r.Headline) + "**\n\n")
	}
	b.WriteString(text(r.Summary) + "\n\n")
	if r.Alone {
		fmt.Fprintf(&b, "Run: %s.\n\n", text(r.New.Source))
	} else {
		fmt.Fprintf(&b, "Base: %s. New: %s.\n\n", text(r.Base.Source), text(r.New.Source))
	}
	b.WriteString("| verdict | check | fails | change | would have failed from | medians | " +
		"|\n|---|---|---|---:|---:|---:|---|\n")
	for _, c := range r.Checks {
		label := text(c.label())
		if c.Verdict != Pass {
			label = "**" + label + "**"
		}
		from := "-"
		if c.WouldFailFrom != nil {
			from = c.from()
		}
		cells := []string{c.subject(), c.limit(), c.found(), from, c.medians(), c.remark()}
		b.WriteString("| " + label + " |")
		for _, cell := range cells {
			b.WriteString(" " + text(cell) + " |")
		}
		b.WriteString("\n")
	}
	if said := r.confidences(); said != "" {
		b.WriteString("\n" + text(said) + "\n")
	}
	if lines := r.warningLines(); len(lines) > 0 {
		b.WriteString("\n### Warnings\n\n")
		for _, line := range lines {
			b.WriteString("- " + text(line) + "\n")
		}
	}
	return b.String()
}

// github writes workflow commands, which GitHub shows as annotations: errors for checks that fail the gate, warnings
// for inconclusive ones, notices for the rest. (GitHub Docs, Workflow commands for GitHub Actions.)
func github(r Result) string {
	var b strings.Builder
	annotate := func(level, title, message string) {
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, property(clean.Line(title)),
			data(clean.Line(message)))
	}
	for _, c := range r.Checks {
		switch c.Verdict {
		case Fail, Error:
			annotate("error", c.label()+": "+c.subject(), c.said())
		case Inconclusive:
			level := "warning"
			if r.InconclusiveFails {
				level = "error"
			}
			annotate(level, c.label()+": "+c.subject(), c.said())
		case Pass:
		}
	}
	level := "notice"
	switch r.title() {
	case "FAILED", "ERROR", "UNPROVED":
		level = "error"
	case "INCONCLUSIVE":
		level = "warning"
	}
	annotate(level, "Gate: "+r.title(), strings.TrimSpace(r.Headline+" "+r.Summary))
	return b.String()
}

// data escapes the part after the second "::" of a workflow command; property escapes a property of the command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}

// The elements of a JUnit report that CI systems read, as in the schema of Jenkins' xUnit plugin.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out,omitempty"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Skipped *junitTrace `xml:"skipped"`
		Error   *junitTrace `xml:"error"`
		Failure *junitTrace `xml:"failure"`
		Out     string      `xml:"system-out,omitempty"`
	}
	junitTrace struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// junit writes a suite with a case for each check. An inconclusive check is a skipped case, or a failed one if it
// counts as failed.
func junit(w io.Writer, r Result) error {
	suite := junitSuite{
		Name: "nearfar gate", Tests: len(r.Checks), Failures: r.Count(Fail), Errors: r.Count(Error),
		Skipped: r.Count(Inconclusive),
		Properties: []junitProperty{
			{"base", clean.Line(r.Base.Source)}, {"new", clean.Line(r.New.Source)},
			{"verdict", string(r.Verdict)},
			{"headline", clean.Line(r.Headline)},
			{"summary", clean.Line(r.Summary)},
		},
	}
	if r.Unproved != "" {
		suite.Properties = append(suite.Properties, junitProperty{"unproved", clean.Line(r.Unproved)})
	}
	if r.Unverified != "" {
		suite.Properties = append(suite.Properties, junitProperty{"unverified", clean.Line(r.Unverified)})
	}
	if r.InconclusiveFails {
		suite.Failures, suite.Skipped = suite.Failures+suite.Skipped, 0
	}
	for _, c := range r.Checks {
		one := junitCase{Class: clean.Line(c.Workload), Name: clean.Line(c.subject() + " " + c.limit())}
		trace := &junitTrace{Message: clean.Line(c.said()), Type: string(c.Verdict),
			Text: clean.Line(c.Rule)}
		switch {
		case c.Verdict == Fail, c.Verdict == Inconclusive && r.InconclusiveFails:
			one.Failure = trace
		case c.Verdict == Error:
			one.Error = trace
		case c.Verdict == Inconclusive:
			one.Skipped = &junitTrace{Message: trace.Message}
		default:
			one.Out = clean.Line(c.said())
		}
		suite.Cases = append(suite.Cases, one)
	}
	if r.Unverifiable() {
		suite.Tests++
		suite.Failures++
		suite.Cases = append(suite.Cases, junitCase{Class: "arms", Name: "the arms are what they claim",
			Failure: &junitTrace{Message: clean.Line(r.Unproved), Type: "unproved"}})
	}
	lines := r.warningLines()
	for i := range lines {
		lines[i] = clean.Line(lines[i])
	}
	suite.Out = strings.Join(slices.Compact(lines), "\n")
	suites := junitSuites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors,
		Suites: []junitSuite{suite}}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
