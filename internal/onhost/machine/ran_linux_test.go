package machine

import (
	"maps"
	"testing"
	"time"
)

func TestParseRan(t *testing.T) {
	want := map[int]time.Duration{0: 24438037886060, 1: 27418335890092}
	if got := parseUsagePerCPU([]byte("24438037886060 27418335890092 \n")); !maps.Equal(got, want) {
		t.Errorf("cpuacct: %v", got)
	}
	if got := parseUsagePerCPU([]byte("1 x")); got != nil {
		t.Errorf("garbage in cpuacct: %v", got)
	}
	const stat = "version 17\ntimestamp 4295062350\ncpu0 0 0 0 0 0 0 24438037886060 5 6\n" +
		"domain0 MC 00000003 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 27418335890092 7 8\n"
	if got := parseSchedstat([]byte(stat)); !maps.Equal(got, want) {
		t.Errorf("schedstat: %v", got)
	}
	for _, bad := range []string{"version 14\ncpu0 0 0 0 0 0 0 1 2 3\n", "version 17\ncpu0 0 0 0 0 0 0 x 2 3\n"} {
		if got := parseSchedstat([]byte(bad)); got != nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

// TestOthersWithoutSoftirqsOfAnIdleCPU: software interrupts that interrupt an idle CPU make it busy, but no program
// ran.
func TestOthersWithoutSoftirqsOfAnIdleCPU(t *testing.T) {
	started := time.Unix(0, 0)
	before := State{At: started, CPUs: map[int]CPUTimes{0: {}}, Softirqd: map[int]time.Duration{0: 0},
		Ran: map[int]time.Duration{0: time.Hour}}
	after := State{At: started.Add(time.Second), CPUs: map[int]CPUTimes{0: {Idle: 400 * time.Millisecond}},
		Softirqd: map[int]time.Duration{0: 20 * time.Millisecond},
		Ran:      map[int]time.Duration{0: time.Hour + 530*time.Millisecond}}
	own := []Own{{CPUs: []int{0}, Ran: 500 * time.Millisecond}}
	if got, ok := Others(before, after, []int{0}, []int{0}, own); !ok || got != 10*time.Millisecond {
		t.Errorf("others ran %v, want 10 ms", got)
	}
	after.Ran = nil
	if got, ok := Others(before, after, []int{0}, []int{0}, own); !ok || got != 80*time.Millisecond {
		t.Errorf("without the threads' time others ran %v, want 80 ms", got)
	}
}
