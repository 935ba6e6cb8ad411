package history

import (
	"math/rand/v2"
	"testing"
)

// If nothing changes, whoever looks every night sees a false change on at most one night a year, on average. With 5 % a
// look, which was the level before, four of ten series had one within 60 nights.
func TestFalseAlarmsPerYear(t *testing.T) {
	series := simulated(t, 8)
	t.Parallel()
	// watch counts the nights that show a change, and says whether there is one within 60 nights.
	watch := func(r *rand.Rand, nights int, level float64) (marked int, early bool) {
		values := make([]float64, nights)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		for n := 1; n <= nights; n++ {
			if len(findCuts(values[:n], level)) > 0 {
				marked++
				early = early || n <= 60
			}
		}
		return marked, early
	}
	r := rand.New(rand.NewPCG(36, 5))
	within60 := 0
	for range series {
		if _, early := watch(r, 60, 0.05); early {
			within60++
		}
	}
	nights, years, early := 0, min(series, 100), 0
	for range years {
		marked, soon := watch(r, NightsPerYear, FamilyLevel)
		nights += marked
		if marked > 0 && soon {
			early++
		}
	}
	t.Logf("5 %% a look: %.3f of %d series are marked within 60 nights; now %.3f of %d, and %.2f nights a year",
		float64(within60)/float64(series), series, float64(early)/float64(years), years,
		float64(nights)/float64(years))
	// The nights of one year come in groups, so that their standard deviation is about 6.
	if float64(nights)/float64(years) > FalseAlarmsPerYear+2*6 {
		t.Errorf("%d nights of %d years show a change", nights, years)
	}
}
