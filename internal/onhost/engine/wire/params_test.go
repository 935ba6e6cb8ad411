package wire

import (
	"math"
	"testing"
	"time"
)

func TestLengthOfIntervals(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*Params)
		interval time.Duration
		ok       bool
	}{
		{"the engine's choice", func(*Params) {}, time.Second, true},
		{"of a long window", func(p *Params) { p.Duration = 2 * time.Hour }, 2 * time.Second, true},
		{"asked for", func(p *Params) { p.Interval = 100 * time.Millisecond }, 100 * time.Millisecond, true},
		{"too short", func(p *Params) { p.Interval = time.Millisecond }, 0, false},
		{"negative", func(p *Params) { p.Interval = -time.Second }, 0, false},
		{"too many", func(p *Params) { p.Interval, p.Duration = 10*time.Millisecond, time.Minute }, 0, false},
		{"of another mode", func(p *Params) { p.Mode, p.Request, p.Response, p.Interval = ModeRR, 64, 64, time.Second },
			0, false},
	} {
		p := Params{Mode: ModeStream, Protocol: TCP, Message: 64 << 10, Connections: 1, Duration: time.Second}
		c.change(&p)
		if err := p.Validate(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.ok && time.Duration(p.IntervalOrDefault()) != c.interval {
			t.Errorf("%s: intervals of %v, want %v", c.name, time.Duration(p.IntervalOrDefault()), c.interval)
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"wait":                  func(p *Params) { p.Wait = "poll" },
		"wait of crr":           func(p *Params) { p.Mode, p.Wait = ModeCRR, WaitSpin },
		"epoll of crr":          func(p *Params) { p.Mode, p.Wait = ModeCRR, WaitEpoll },
		"busy-poll of load":     func(p *Params) { p.Mode, p.Wait = ModeLoad, WaitBusyPoll },
		"epoll with timestamps": func(p *Params) { p.Timestamps, p.Wait = true, WaitEpoll },
		"wait of stream":        func(p *Params) { p.Mode, p.Message, p.Wait = ModeStream, 1, WaitSpin },
		"dscp":                  func(p *Params) { p.DSCP = 64 },
		"negative dscp":         func(p *Params) { p.DSCP = -1 },
		"send buffer":           func(p *Params) { p.SendBuffer = -1 },
		"receive buffer":        func(p *Params) { p.ReceiveBuffer = maxBuffer + 1 },
		"long name":             func(p *Params) { p.Congestion = "sixteen-letters-" },
		"congestion of udp":     func(p *Params) { p.Protocol, p.Congestion = UDP, "reno" },
		"nodelay of udp":        func(p *Params) { p.Protocol, p.Nagle = UDP, true },
		"direction of rr":       func(p *Params) { p.Direction = Both },
		"zero-copy of rr":       func(p *Params) { p.ZeroCopy = true },
		"direction":             func(p *Params) { p.Mode, p.Message, p.Direction = ModeStream, 1, "sideways" },
		"both, too many": func(p *Params) {
			p.Mode, p.Message, p.Direction, p.Connections = ModeStream, 1,
				Both, MaxConnections
		},
		"batch of rr":   func(p *Params) { p.Batch = 2 },
		"rate of rr":    func(p *Params) { p.MessageRate = 2 },
		"no message":    func(p *Params) { p.Mode = ModeMessages },
		"batch":         func(p *Params) { p.Mode, p.Message, p.Batch = ModeMessages, 64, maxBatch+1 },
		"large batch":   func(p *Params) { p.Mode, p.Message, p.Batch = ModeMessages, MaxMessage/2, 3 },
		"negative rate": func(p *Params) { p.Mode, p.Message, p.MessageRate = ModeMessages, 64, -1 },
		"slow rate":     func(p *Params) { p.Mode, p.Message, p.MessageRate = ModeMessages, 64, 0.5 },
		"message over udp": func(p *Params) {
			p.Mode, p.Protocol, p.Message = ModeMessages, UDP,
				DatagramHeader-1
		},
		"messages, 2 connections": func(p *Params) { p.Mode, p.Message, p.Connections = ModeMessages, 64, 2 },
	} {
		p := Params{Mode: ModeRR, Protocol: TCP, Request: 64, Response: 64, Connections: 1, Duration: time.Second}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: %+v is taken", name, p)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestIntervalLength(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{time.Millisecond: time.Second, time.Hour: time.Second,
		24 * time.Hour: 24 * time.Second} {
		if got := IntervalLength(window); got != int64(want) {
			t.Errorf("a window of %v has intervals of %v", window, time.Duration(got))
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		ns    int64
		known bool
		want  int32
	}{{5, true, 5}, {-5, true, -5}, {5, false, NoDuration}, {1 << 40, true, NoDuration}, {-1 << 40, true, NoDuration},
		{math.MinInt32, true, NoDuration}} {
		if got := Stamp(c.ns, c.known); got != c.want {
			t.Errorf("%d ns, known %v: %d, want %d", c.ns, c.known, got, c.want)
		}
	}
}

func TestTimestampsValidate(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"crr":                func(p *Params) { p.Mode = ModeCRR },
		"short response":     func(p *Params) { p.Response = StampsSize - 1 },
		"short udp response": func(p *Params) { p.Protocol, p.Response = UDP, StampsOffset+StampsSize-1 },
	} {
		p := Params{Mode: ModeRR, Protocol: TCP, Request: 100, Response: 60, Connections: 1, Duration: time.Second,
			Timestamps: true}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if p.Validate() == nil {
			t.Errorf("%s: timestamps are promised", name)
		}
	}
}

func TestParamsValidate(t *testing.T) {
	good := Params{Mode: ModeRR, Protocol: UDP, Request: 64, Response: 32, Connections: 1, Duration: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Params){
		"mode":           func(p *Params) { p.Mode = "sing" },
		"protocol":       func(p *Params) { p.Protocol = "icmp" },
		"crr over udp":   func(p *Params) { p.Mode = ModeCRR },
		"no duration":    func(p *Params) { p.Duration = 0 },
		"long duration":  func(p *Params) { p.Duration = 25 * time.Hour },
		"warm-up":        func(p *Params) { p.Warmup = -1 },
		"no connections": func(p *Params) { p.Connections = 0 },
		"rr, two":        func(p *Params) { p.Connections = 2 },
		"small datagram": func(p *Params) { p.Response = DatagramHeader - 1 },
		"large datagram": func(p *Params) { p.Request = MaxDatagram + 1 },
		"amplification":  func(p *Params) { p.Response = 65 },
		"no message":     func(p *Params) { p.Mode, p.Protocol = ModeStream, TCP },
		"no request":     func(p *Params) { p.Protocol, p.Request = TCP, 0 },
		"large response": func(p *Params) { p.Protocol, p.Response = TCP, MaxMessage+1 },
	} {
		p := good
		change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: %+v is taken", name, p)
		}
	}
}
