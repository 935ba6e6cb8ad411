package contrast

import (
	"strings"
	"testing"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
)

// failing makes a side of one arm whose first trials fail.
func failing(name string, blocks, failed int, seed uint64) *Side {
	return model{side: name, arms: []string{"l2"}, blocks: blocks, seed: seed, noise: 1e-7,
		change: func(t *result.Trial) {
			if t.Block <= failed {
				t.Error, t.Metrics = "timed out", nil
			}
		}}.make()
}

func answerOf(t *testing.T, base, other *Side) answer.Answer {
	t.Helper()
	c, err := Match(base, other)
	if err != nil {
		t.Fatal(err)
	}
	return c.Answer()
}

// TestFailuresOfTwoRuns: the verdict begins with a side that fails more often, also if nothing else can be compared.
func TestFailuresOfTwoRuns(t *testing.T) {
	for _, test := range []struct {
		failed int
		better string
		begins string
	}{
		{0, "", "With l2 in B, no difference seen "},
		{1, "", "With l2 in B, no difference seen "},
		{20, "baseline", "With l2 in B, 20 of 57 trials fail, 35 percentage points ("},
		{57, "baseline", "With l2 in B, 57 of 57 trials fail, 100 percentage points ("},
	} {
		a := answerOf(t, failing("A", 57, 0, 1), failing("B", 57, test.failed, 2))
		if len(a.Failures.Comparisons) != 1 || len(a.Failures.Arms) != 2 {
			t.Fatalf("%d failed: %+v", test.failed, a.Failures)
		}
		c := a.Failures.Comparisons[0]
		if c.Better != test.better || c.Failed != [2]int{test.failed, 0} || c.Attempts != [2]int{57, 57} ||
			c.About != string(stats.TheseRuns) || !strings.HasPrefix(a.Verdict, test.begins) {
			t.Errorf("%d failed: %+v\n%s", test.failed, c, a.Verdict)
		}
	}
}

// TestFailuresOfSeveralRuns: with several runs a side the run is the unit, because runs fail as a whole.
func TestFailuresOfSeveralRuns(t *testing.T) {
	side := func(name string, failed ...int) *Side {
		var parts []*Side
		for i, n := range failed {
			s := failing(name, 20, n, uint64(i))
			s.ID += string(rune('1' + i))
			parts = append(parts, s)
		}
		merged, err := Merge(name, parts)
		if err != nil {
			t.Fatal(err)
		}
		return merged
	}
	for _, test := range []struct {
		failed []int
		better string
	}{{[]int{20, 0, 0}, ""}, {[]int{7, 6, 7}, "baseline"}} {
		a := answerOf(t, side("A", 0, 0, 0), side("B", test.failed...))
		c := a.Failures.Comparisons[0]
		if c.Better != test.better || c.About != string(stats.OfRuns) || c.Failed != [2]int{20, 0} ||
			c.Attempts != [2]int{60, 60} {
			t.Errorf("%v of 20 failed: %+v", test.failed, c)
		}
	}
}
