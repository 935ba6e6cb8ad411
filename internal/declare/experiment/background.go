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
	for _, only := range []struct{ key, word string }{{"tool", can.tool}, {"mode", can.Mode},
		{"protocol", can.Protocol}} {
		given, ok := r.optional(inner, only.key)
		if !ok || !r.isScalar(given.value, only.key, only.word) {
			continue
		}
		if given.value.Value != only.word {
			r.wrong(given.value, "leave it out, or write "+only.word, "a background is a %s: its %s cannot be %s",
				can, only.key, quote(given.value.Value))
		}
	}
	switch length := beside.Warmup + beside.Duration; {
	case beside.Duration == 0: // wrong itself
	case length < minBeside:
		r.wrong(v.key, "at least "+FormatDuration(minBeside), "a workload of %s is too short to measure its background",
			FormatDuration(length))
	case length > maxBeside:
		r.wrong(v.key, "at most "+FormatDuration(maxBeside), "a workload of %s is too long to have a background",
			FormatDuration(length))
	}
	w := Workload{Name: "background", Tool: can.tool, Mode: can.Mode, Protocol: can.Protocol, IP: beside.IP}
	r.values(&w, inner, can, func(k key) bool { return k.beside })
	w.Warmup = backgroundWarmup
	w.Placement = r.placed(w, inner, common)
	return &w
}
