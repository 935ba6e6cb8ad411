package tool

import (
	"math"
	"os"
	"testing"

	"nearfar/internal/declare/result"
)

// seed adds the recordings and the samples.
func seed(f *testing.F) {
	f.Helper()
	for _, file := range recordings(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range samples() {
		f.Add([]byte(s.text))
	}
}

// sound says what holds for every measurement: base units, no NaN, no infinity, nothing negative, and no figure without
// a definition.
func sound(t *testing.T, m result.Measurement) {
	t.Helper()
	for _, metric := range m.Metrics {
		if unit, ok := result.UnitOf(metric.Name); !ok || unit != metric.Unit {
			t.Errorf("%s in %s", metric.Name, metric.Unit)
		}
		if math.IsNaN(metric.Value) || math.IsInf(metric.Value, 0) || metric.Value < 0 {
			t.Errorf("%s = %v", metricKey(metric), metric.Value)
		}
		if (metric.Name == result.RTT || metric.Name == result.ResponseTime) && m.Definition == result.DefinitionNone {
			t.Errorf("%s without a definition", metricKey(metric))
		}
	}
	if m.Duration < 0 || m.MessageBytes < 0 {
		t.Errorf("duration %v, message %d B", m.Duration, m.MessageBytes)
	}
}

func fuzzParser(f *testing.F, parse func(text string) (result.Measurement, error)) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parse(plain(data))
		sound(t, m)
		if err == nil && len(m.Metrics) == 0 {
			t.Error("neither a metric nor an error")
		}
	})
}

func FuzzSockperf(f *testing.F)   { fuzzParser(f, parseSockperf) }
func FuzzNetperf(f *testing.F)    { fuzzParser(f, parseNetperf) }
func FuzzIperf3Text(f *testing.F) { fuzzParser(f, parseIperf3Text) }
func FuzzPing(f *testing.F)       { fuzzParser(f, parsePing) }
func FuzzQperf(f *testing.F)      { fuzzParser(f, parseQperf) }
func FuzzLatte(f *testing.F)      { fuzzParser(f, parseLatte) }
func FuzzNtttcpText(f *testing.F) { fuzzParser(f, parseNtttcpText) }

// FuzzDocuments reads JSON and XML: iperf3's, and ntttcp's.
func FuzzDocuments(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		text := plain(data)
		docs, rest := jsonDocuments(text)
		size := len(rest)
		for _, d := range docs {
			size += len(d.body)
			for _, parse := range []func(document) (result.Measurement, error){parseIperf3JSON, parseNtttcpJSON} {
				m, err := parse(d)
				sound(t, m)
				if err == nil && len(m.Metrics) == 0 {
					t.Error("neither a metric nor an error")
				}
			}
		}
		if size > len(text) {
			t.Errorf("%d bytes found in %d", size, len(text))
		}
		docs, _ = xmlDocuments(text)
		for _, d := range docs {
			m, _ := parseNtttcpXML(d)
			sound(t, m)
		}
	})
}

func FuzzImport(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := Import(data, "")
		if err == nil && len(found) == 0 {
			t.Error("neither a run nor an error")
		}
		for _, run := range found {
			sound(t, run.Measurement)
			if run.Err == nil && len(run.Metrics) == 0 {
				t.Error("a run with neither a metric nor an error")
			}
		}
	})
}
