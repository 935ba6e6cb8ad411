package record

// The types of the lines of a sweep: a point for each rate, and the sweep last.
const (
	typePoint = "point"
	typeSweep = "sweep"
)

// PointTimes are percentiles in seconds; nil if the count does not support one, or if requests without a reply would
// change it.
type PointTimes struct {
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p99.9"`
}

// Point is the result of a load at one rate.
type Point struct {
	Type string `json:"type"`
	// Rate was asked for, Offered is in the schedule, Achieved counts the replies within the window; per second.
	Rate     float64    `json:"rate"`
	Offered  float64    `json:"offered_rate"`
	Achieved float64    `json:"transaction_rate"`
	Response PointTimes `json:"response_time"`
	Service  PointTimes `json:"service_time"`
	// LatenessP99 is the p99 of actual minus intended send, in seconds.
	LatenessP99 *float64 `json:"send_lateness_p99"`
	Unanswered  float64  `json:"unanswered"`
	// Loss is for UDP.
	Loss *float64 `json:"loss,omitempty"`
	// Kept says whether the objective was met, if there is one. Bisected says that the rate comes from the bisection.
	Kept     *bool `json:"kept,omitempty"`
	Bisected bool  `json:"bisected,omitempty"`
}

// Sweep is the last line of a sweep.
type Sweep struct {
	Type   string  `json:"type"`
	Points []Point `json:"points"`
	// Objective is the condition. Best is the highest rate per second that met it, or nil. Verdict says it in words.
	Objective string   `json:"objective,omitempty"`
	Best      *float64 `json:"best_rate,omitempty"`
	Verdict   string   `json:"verdict,omitempty"`
	// Upper is the lowest rate that did not meet it, if several trials decided. Doubtful is the range of rates in which
	// single trials decided otherwise than most, if it is wider than from Best to Upper.
	Upper    *float64    `json:"upper_rate,omitempty"`
	Doubtful *[2]float64 `json:"doubtful_rates,omitempty"`
	Notes    []string    `json:"notes,omitempty"`
}

// Point prints the line of one rate.
func (w *Writer) Point(p Point) error { p.Type = typePoint; return w.line(p) }

// Sweep prints the last line of a sweep.
func (w *Writer) Sweep(s Sweep) error {
	s.Type = typeSweep
	for i := range s.Points {
		s.Points[i].Type = typePoint
	}
	return w.line(s)
}
