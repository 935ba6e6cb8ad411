package record

import (
	"bytes"
	"testing"
)

func TestSweepLines(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	p50, kept := 0.001, true
	p := Point{Rate: 10, Offered: 10, Achieved: 9, Response: PointTimes{P50: &p50}, Kept: &kept}
	if err := w.Point(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Sweep(Sweep{Points: []Point{p}, Objective: "o", Verdict: "v"}); err != nil {
		t.Fatal(err)
	}
	const point = `{"type":"point","rate":10,"offered_rate":10,"transaction_rate":9,"response_time":{"p50":0.001,"p99":null,"p99.9":null},` +
		`"service_time":{"p50":null,"p99":null,"p99.9":null},"send_lateness_p99":null,"unanswered":0,"kept":true}`
	if want := point + "\n" + `{"type":"sweep","points":[` + point + `],"objective":"o","verdict":"v"}` +
		"\n"; b.String() != want {
		t.Errorf("%s, not %s", &b, want)
	}
}
