package result

import (
	"strings"
	"testing"
)

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{14.52e-6, Seconds, "14.52 us"},
		{983e-9, Seconds, "0.983 us"},
		{98e-9, Seconds, "98.00 ns"},
		{999.96e-6, Seconds, "1.000 ms"},
		{1.5, Seconds, "1.50 s"},
		{0, Seconds, "0.00 us"},
		{-2e-12, Seconds, "-0.002 ns"},
		{956.4e6, BitsPerSecond, "956.4 Mbit/s"},
		{38.2e9, BitsPerSecond, "38.20 Gbit/s"},
		{1.25e-9, SecondsPerBit, "1.25 s/Gbit"},
		{18e-12, SecondsPerBit, "18.00 ms/Gbit"},
		{119834.2, PerSecond, "119834 /s"},
		{0.25, One, "0.250"},
	} {
		if got := Amount(c.value, c.unit); got != c.want {
			t.Errorf("Amount(%g, %s) = %q, want %q", c.value, c.unit, got, c.want)
		}
	}
	if got := SignedAmount(1.78e-6, Seconds); got != "+1.78 us" {
		t.Errorf("signed: %q", got)
	}
	if got := SignedAmount(-1e-15, Seconds); got != "+0.000 ns" {
		t.Errorf("a negative nothing is %q", got)
	}
}

func TestSupportsPercentile(t *testing.T) {
	for _, c := range []struct {
		count      int64
		percentile float64
		want       bool
	}{
		{20, 50, true}, {19, 50, false}, {1000, 99, true}, {999, 99, false}, {10000, 99.9, true}, {9999, 99.9, false},
		{1000000, 99.999, true}, {0, 50, false},
	} {
		if got := SupportsPercentile(c.count, c.percentile); got != c.want {
			t.Errorf("%d observations support p%g: %v, want %v", c.count, c.percentile, got, c.want)
		}
	}
}

// Every canonical name has a unit; others have none.
func TestUnitOf(t *testing.T) {
	for name, want := range map[string]string{
		RTT: Seconds, ResponseTime: Seconds, ServiceTime: Seconds, ConnectTime: Seconds, IPDV: Seconds,
		TransactionRate: PerSecond, MessageRate: PerSecond, Goodput: BitsPerSecond, Retransmits: One, Sent: One,
		Received: One, Duplicates: One, OutOfOrder: One, Loss: One, Lost: One, CPU: One, CPUPerBit: SecondsPerBit,
	} {
		if unit, ok := UnitOf(name); !ok || unit != want {
			t.Errorf("UnitOf(%s) = %s, %v; want %s", name, unit, ok, want)
		}
	}
	if unit, ok := UnitOf("jitter"); ok {
		t.Errorf("jitter has the unit %s", unit)
	}
}

func TestRecordKeepsFieldsThatAMeasurementLacks(t *testing.T) {
	trial := Trial{Tool: ToolVersion{Name: "netperf", Version: "2.7.0"}, Mode: "rr", Protocol: "tcp"}
	trial.Record(Measurement{})
	if trial.Tool.Version != "2.7.0" || trial.Mode != "rr" || trial.Protocol != "tcp" ||
		trial.Definition != DefinitionNone || trial.Metrics == nil {
		t.Errorf("%+v", trial)
	}
	trial.Record(Measurement{Protocol: "udp", MessageBytes: 64, Definition: DefinitionRTT})
	if trial.Protocol != "udp" || trial.MessageBytes == nil || *trial.MessageBytes != 64 ||
		trial.Definition != DefinitionRTT {
		t.Errorf("%+v", trial)
	}
}

func TestShare(t *testing.T) {
	for ratio, want := range map[float64]string{
		0: "0 %", 0.00004217: "0.0042 %", 0.0042: "0.42 %", 0.19: "19 %", 1.298: "130 %", 12.34: "1200 %",
	} {
		if got := Share(ratio); got != want {
			t.Errorf("Share(%v) = %q, want %q", ratio, got, want)
		}
	}
}

func TestOwnNames(t *testing.T) {
	for name, want := range map[string]bool{
		"tps": true, "page_time_2": true, "rtt": false, "goodput": false, "p99": false, "mean": false, "": false,
		"Tps": false, "2tps": false, "_a": false, "a.b": false, "a b": false, "pages": true,
		strings.Repeat("a", maxOwnName): true, strings.Repeat("a", maxOwnName+1): false,
	} {
		if IsOwnName(name) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}
