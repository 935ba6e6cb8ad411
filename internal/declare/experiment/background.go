package experiment

import "time"

// Limits of the warm-up and window of a workload with a background, together. The background is measured in intervals
// of 100 ms and needs several of them.
const (
	// backgroundWarmup is how long a background runs before its workload starts. At first its congestion control sends
	// more than the path holds, and it takes a while to recover.
	backgroundWarmup = time.Second

	minBeside = 300 * time.Millisecond
	maxBeside = 23 * time.Hour
)

// background reads the background of a workload. It gives nil if there is none or if it is wrong.
func (r *reader) background(beside Workload, f fields, common *Placement) *Workload {
	v, ok := r.optional(f, "background")
	if !ok {
		return nil
	}
	inner, ok := r.fields(v.value, v.key, "the background", backgroundKeys())
	if !ok {
		return nil
	}
	can, _ := r.tools.beside()
	w := Workload{Name: "background", Tool: can.tool, Mode: can.Mode, Protocol: can.Protocol, IP: beside.IP}
	for key, into := range map[string]*string{"tool": &w.Tool, "mode": &w.Mode, "protocol": &w.Protocol} {
		if given, ok := r.optional(inner, key); ok {
			*into = r.scalar(given.value, key, *into)
		}
	}
	w.Read(values{r, inner}, can, true)
	w.Warmup = backgroundWarmup
	w.Placement = r.placed(w, inner, common)
	return &w
}

// checkBackground checks that a workload can have its background.
func (w Workload) checkBackground(c *checker, tools Tools) {
	if w.Background == nil {
		return
	}
	b, in := *w.Background, c.in("background")
	can, _ := tools.beside()
	for _, only := range []struct{ key, is, word string }{{"tool", b.Tool, can.tool}, {"mode", b.Mode, can.Mode},
		{"protocol", b.Protocol, can.Protocol}} {
		if only.is != only.word {
			in.wrong(value(only.key), "leave it out, or write "+only.word, "a background is a %s: its %s cannot be %s",
				can, only.key, quote(only.is))
		}
	}
	switch length := w.Warmup + w.Duration; {
	case !c.sound("duration", "warmup"):
	case length < minBeside:
		c.wrong(atKey("background"), "at least "+FormatDuration(minBeside),
			"a workload of %s is too short to measure its background", FormatDuration(length))
	case length > maxBeside:
		c.wrong(atKey("background"), "at most "+FormatDuration(maxBeside),
			"a workload of %s is too long to have a background", FormatDuration(length))
	}
	// A background lasts as long as its workload and has no duration of its own.
	if b.Duration == 0 {
		b.Duration = defaultWindow
	}
	can.check(in, b)
	b.Placement.check(in.in("placement"))
}
