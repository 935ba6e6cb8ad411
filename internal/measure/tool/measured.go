package tool

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const (
	microsecond = 1e-6
	millisecond = 1e-3
)

// measured collects what an output says.
type measured struct{ result.Measurement }

// newMeasured makes a measurement that has only the tool's name.
func newMeasured(tool string) *measured {
	return &measured{result.Measurement{
		Tool:       result.ToolVersion{Name: tool},
		ReportedAs: result.DefinitionNone,
		Definition: result.DefinitionNone,
		Metrics:    []result.Metric{},
	}}
}

// add adds a metric in its base unit. It leaves out values that are negative, NaN or infinite, which some tools print
// for "not known".
func (m *measured) add(name, stat string, value float64, scope string) bool {
	unit, ok := result.UnitOf(name)
	if !ok || math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
		return false
	}
	m.Metrics = append(m.Metrics, result.Metric{Name: name, Stat: stat, Unit: unit, Value: value, Scope: scope})
	return true
}

// addKnown adds a metric times scale, if the output has it.
func (m *measured) addKnown(name, stat string, value *float64, scale float64, scope string) bool {
	return value != nil && m.add(name, stat, *value*scale, scope)
}

// addPrinted adds a metric from printed text, times scale.
func (m *measured) addPrinted(name, stat, printed string, scale float64, scope string) bool {
	v, ok := number(printed)
	return ok && m.add(name, stat, v*scale, scope)
}

// percentile adds a percentile as the tool printed it. It leaves out one that the count of observations does not
// support; a count of 0 is not known.
func (m *measured) percentile(name string, percentile, value float64, count int64) {
	if percentile > 0 && percentile < 100 && (count <= 0 || result.SupportsPercentile(count, percentile)) {
		m.add(name, result.PercentileStat(percentile), value, "")
	}
}

// started records when the run began, if that is a time at which somebody can have measured.
func (m *measured) started(at time.Time) {
	if year := at.UTC().Year(); year >= 1990 && year < 2200 {
		m.Started = at.UTC()
	}
}

// has reports whether there is a metric of this name.
func (m *measured) has(name string) bool {
	return slices.ContainsFunc(m.Metrics, func(got result.Metric) bool { return got.Name == name })
}

// hasZero reports whether a metric of this name is 0.
func (m *measured) hasZero(name string) bool {
	return slices.ContainsFunc(m.Metrics, func(got result.Metric) bool { return got.Name == name && got.Value == 0 })
}

// drop removes the metrics of this name.
func (m *measured) drop(name string) {
	m.Metrics = slices.DeleteFunc(m.Metrics, func(got result.Metric) bool { return got.Name == name })
}

// seconds sets the length of the measurement window.
func (m *measured) seconds(s float64) {
	if s > 0 && s < 1e9 {
		m.Duration = time.Duration(s * float64(time.Second))
	}
}

// printedSeconds does the same from printed text, if that is a number.
func (m *measured) printedSeconds(printed string) {
	s, _ := number(printed)
	m.seconds(s)
}

func (m *measured) note(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if !slices.Contains(m.Notes, note) {
		m.Notes = append(m.Notes, note)
	}
}

func (m *measured) fact(key, value string) {
	value = excerpt(value)
	if value == "" {
		return
	}
	if m.Facts == nil {
		m.Facts = map[string]string{}
	}
	m.Facts[key] = value
}

// factIP says which version of IP carried the measurement, as the tool printed it.
const factIP = "ip"

// ip records the version of IP of the printed address of the other side. It ignores a text that is not an address.
func (m *measured) ip(address string) {
	a, err := netip.ParseAddr(address)
	switch {
	case err != nil:
	case a.Unmap().Is4():
		m.fact(factIP, "4")
	default:
		m.fact(factIP, "6")
	}
}

// define sets the definition of the numbers, as reported and after conversion.
func (m *measured) define(reportedAs, definition string) {
	m.ReportedAs, m.Definition = reportedAs, definition
}

// parseText reads what a client printed with the parser of the tool's text. It takes mode and protocol from the
// workload if that is known, because the text does not always say them.
func parseText(tool string, out Output, parse func(string) (result.Measurement, error)) (result.Measurement, error) {
	m, err := parse(plain(out.Stdout) + "\n" + plain(out.Stderr))
	if w := out.Workload; w != nil {
		m.Mode, m.Protocol = w.Mode, w.Protocol
	}
	return m, ended(tool, out, err)
}

// ended adds the exit status and standard error of the client to the error that reading its output gave.
func ended(tool string, out Output, err error) error {
	said := lastLine(plain(out.Stderr))
	switch {
	case err != nil && said != "" && !strings.Contains(err.Error(), said):
		return fmt.Errorf("%w; on standard error: %s", err, said)
	case err == nil && out.ExitCode != 0 && said != "":
		return fmt.Errorf("%s ended with exit status %d: %s", tool, out.ExitCode, said)
	case err == nil && out.ExitCode != 0:
		return fmt.Errorf("%s ended with exit status %d", tool, out.ExitCode)
	}
	return err
}

// maxDatagram is the largest payload of a UDP datagram over IPv4, in bytes: 65535 less 20 of IP and 8 of UDP.
const maxDatagram = 65507

// wholeSeconds are the windows of tools that take whole seconds.
func wholeSeconds() experiment.Durations {
	return experiment.Durations{Min: time.Second, Max: 24 * time.Hour, Step: time.Second}
}

// whole rounds a duration up to whole seconds, at least one.
func whole(d time.Duration) int {
	return max(1, int((d+time.Second-1)/time.Second))
}

var errEmpty = errors.New("the output is empty")
