package stream

import (
	"bytes"
	"testing"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// FuzzIntervals feeds all that a server can say of intervals. If the client accepts it, it makes a line that a reader
// of the record accepts.
func FuzzIntervals(f *testing.F) {
	f.Add([]byte(`{"start":0,"end":1000000000,"bytes":5,"retransmits":3,"congestion_window":14480,"smoothed_rtt":9000}`), uint8(0))
	f.Add([]byte(`{"start":0,"end":1,"bytes":9223372036854775807,"messages":9223372036854775807}`), uint8(3))
	f.Add([]byte(`{"start":5,"end":4}`), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, kind uint8) {
		p := enginetest.Stream(1)
		p.Direction = []string{wire.Upload, wire.Download, wire.Both, ""}[kind%4]
		if kind%8 > 3 {
			p = enginetest.Messages(wire.UDP, 64, 1)
		}
		s := &state{begun: true, seconds: 1}
		if p.DirectionOrDefault() != wire.Upload {
			s.flows.receivers = []*receiver{{}}
		}
		var lines bytes.Buffer
		w := record.NewWriter(&lines)
		if err := w.Start(record.Start{}); err != nil {
			t.Fatal(err)
		}
		c := &session.Client{Options: session.RunOptions{Params: p}}
		if err := frame(c, s, wire.KindInterval, b, nil, w); err != nil {
			return
		}
		if run, err := record.Read(lines.Bytes()); len(run.Intervals) != 1 {
			t.Errorf("%s: %v", lines.Bytes(), err)
		}
	})
}
