package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"

	"nearfar/internal/conclude/answer"
)

// Rate is how often something was true: Hits of Draws runs.
type Rate struct{ Hits, Draws int }

// Share is Hits / Draws.
func (r Rate) Share() float64 { return float64(r.Hits) / float64(r.Draws) }

// StandardError is the standard error of a share of `at` in as many draws.
func (r Rate) StandardError(at float64) float64 { return math.Sqrt(at * (1 - at) / float64(r.Draws)) }

// AtMost says whether the share is at most the bound, allowing two standard errors.
func (r Rate) AtMost(bound float64) bool { return r.Share() <= bound+2*r.StandardError(bound) }

// AtLeast says whether the share is at least the bound, allowing two standard errors.
func (r Rate) AtLeast(bound float64) bool { return r.Share() >= bound-2*r.StandardError(bound) }

func (r Rate) String() string { return fmt.Sprintf("%.3f", r.Share()) }

// Draw answers n runs of the world, and counts for each question how often its answer was yes. Equal seeds draw equal
// runs.
func (w World) Draw(n int, seed uint64, questions ...func(answer.Answer) bool) []Rate {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	rates := make([]Rate, len(questions))
	for range n {
		a := w.Answer(r)
		for i, asks := range questions {
			rates[i].Draws++
			if asks(a) {
				rates[i].Hits++
			}
		}
	}
	return rates
}
