package tool

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const uperfName = "uperf"

// uperfProgram declares uperf (github.com/uperf/uperf). The format is what print_summary, print_average and
// print_goodbye_stat of src/print.c print, also as raw statistics (-R, in old versions -x). What an operation is, the
// profile says, which is not in the output: its name is, and the profiles of benchmark-wrapper and the like are named
// by test, protocol, sizes and threads.
func uperfProgram() program {
	p := readOnly(uperfName, "bytes, bit/s and operations/s; averages of transactions", "1.0.4 to 1.0.8 read")
	p.mark, p.parse = uperfMark, parseUperf
	return p
}

var (
	uperfCommand  = lazyregexp.New(`(?:^|[$#>%/\s])uperf\s+(?:-\w+\s+)*-m\s`)
	uperfStarting = lazyregexp.New(`Starting (\d+) (?:threads|processes) running profile:(\S+)`)
	uperfProfile  = lazyregexp.New(`^(?:ripsaw-)?([a-z_]+)-([a-z0-9]+)-(\d+)(?:-(\d+))?-(\d+)$`)
	uperfTotal    = lazyregexp.New(`^Total +\S+ ?/ *([\d.]+)\(s\) = +(\S+) +\d+op/s`)
	uperfRaw      = lazyregexp.New(`^timestamp_ms:([\d.]+) name:(\S+) nr_bytes:(\d+) nr_ops:(\d+)$`)
	uperfAverage  = lazyregexp.New(`^Txn\d+ +(\d+) +([\d.]+[num]?s) +\S+ +([\d.]+[num]?s) +([\d.]+[num]?s)`)
	uperfSide     = lazyregexp.New(`^(\S+) +([\d.]+[num]?s) +\S+ +(\S+) +(\d+) +(\d+\.\d+)$`)
	uperfFailure  = lazyregexp.New(`(?i)^(?:error\b|aborting|.*(?:connection refused|cannot connect|could not connect|` +
		`unable to )).*`)
)

// uperfMark recognises lines of uperf's output.
func uperfMark(line string) mark {
	switch {
	case !containsAny(line, "uperf", "profile:", "Total", "timestamp_ms:", "Run Statistics"):
		return markNone
	case uperfStarting.MatchString(line):
		return markBanner
	case uperfCommand.MatchString(line):
		return markCommand
	case uperfTotal.MatchString(line):
		return markResult
	case uperfRaw.MatchString(line), line == "Run Statistics":
		return markWeak
	}
	return markNone
}

// uperfRun is what one run printed.
type uperfRun struct {
	total float64
	// raw are the first and last counts of each transaction by its name.
	raw map[string]*uperfCounts
	// count, mean, max and min are of the transaction that ran most often.
	count          float64
	mean, max, min float64
	// sides are the throughputs of the master and of the others together; errors is the greatest share of errors.
	master, others, errors float64
	inSides                bool
	failure                string
}

type uperfCounts struct{ begin, end, bytes, ops float64 }

// parseUperf reads one run.
func parseUperf(text string) (result.Measurement, error) {
	m := newMeasured(uperfName)
	r := uperfRun{raw: map[string]*uperfCounts{}}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if s := uperfStarting.FindStringSubmatch(line); s != nil {
			uperfKind(m, s[1], s[2])
			continue
		}
		r.line(m, line)
	}
	return r.judge(m)
}

// uperfKind sets mode, protocol and sizes by the name of the profile, as far as it says them.
func uperfKind(m *measured, threads, profile string) {
	m.fact("connections", threads)
	m.fact("profile", profile)
	s := uperfProfile.FindStringSubmatch(profile)
	switch {
	case s != nil && (s[1] == "rr" || s[1] == "stream"):
		m.Mode, m.Protocol, m.MessageBytes = s[1], s[2], integer(s[3])
		m.fact("connections", s[5])
		if s[4] != "" && s[4] != s[3] {
			m.fact(result.FactSetting, "read="+s[4]+"B")
		}
	case profile == "iperf":
		m.Mode = experiment.Stream
	case profile == "netperf":
		m.Mode = experiment.RR
	default:
		m.fact(result.FactSetting, profile)
	}
}

func (r *uperfRun) line(m *measured, line string) {
	switch {
	case line == "Run Statistics":
		r.inSides = true
	case uperfTotal.MatchString(line):
		s := uperfTotal.FindStringSubmatch(line)
		m.printedSeconds(s[1])
		r.total = uperfBits(s[2])
	case strings.HasPrefix(line, "timestamp_ms:"):
		r.sample(uperfRaw.FindStringSubmatch(line))
	case strings.HasPrefix(line, "Txn"):
		if s := uperfAverage.FindStringSubmatch(line); s != nil {
			if n, ok := number(s[1]); ok && n > r.count {
				r.count, r.mean, r.max, r.min = n, uperfSeconds(s[2]), uperfSeconds(s[3]), uperfSeconds(s[4])
			}
		}
	case r.inSides && uperfSide.MatchString(line):
		s := uperfSide.FindStringSubmatch(line)
		share, _ := number(s[5])
		r.errors = max(r.errors, share)
		if s[1] == "master" || s[1] == "Master" {
			r.master += uperfBits(s[3])
			return
		}
		r.others += uperfBits(s[3])
	case r.failure == "" && uperfFailure.MatchString(line):
		r.failure = excerpt(line)
	}
}

// sample reads raw counts, which add up from the start.
func (r *uperfRun) sample(s []string) {
	if s == nil || len(r.raw) > 1000 {
		return
	}
	at, _ := number(s[1])
	bytes, _ := number(s[3])
	ops, _ := number(s[4])
	c := r.raw[s[2]]
	if c == nil {
		r.raw[s[2]] = &uperfCounts{begin: at}
		c = r.raw[s[2]]
		if ops > 0 { // the time before is not known
			c.begin = 0
		}
	}
	c.end, c.bytes, c.ops = at, bytes, ops
}

// busiest is the transaction with the most operations.
func (r *uperfRun) busiest() (most uperfCounts) {
	for name, c := range r.raw {
		if strings.HasPrefix(name, "Txn") && c.ops > most.ops && c.begin > 0 && c.end > c.begin {
			most = *c
		}
	}
	return most
}

// uperfBits reads a rate such as 957.36Mb/s, whose prefixes are powers of 1000.
func uperfBits(printed string) float64 {
	digits := strings.TrimRight(printed, "KMGTPb/s")
	v, _ := number(digits)
	return v * power(1000, strings.TrimSuffix(printed[len(digits):], "b/s"))
}

// uperfSeconds reads a time such as 34.61us.
func uperfSeconds(printed string) float64 {
	d, err := time.ParseDuration(printed)
	if err != nil {
		return 0
	}
	return d.Seconds()
}

// judge makes metrics of what was printed.
func (r *uperfRun) judge(m *measured) (result.Measurement, error) {
	busiest := r.busiest()
	if seconds := (busiest.end - busiest.begin) * millisecond; busiest.ops > 0 {
		m.seconds(seconds)
		m.started(time.UnixMilli(int64(min(busiest.begin, 1e15))))
		if r.total == 0 {
			r.total = busiest.bytes * 8 / seconds
		}
	}
	if r.errors > 0 {
		m.note("%s %% of the operations failed.", strconv.FormatFloat(r.errors, 'f', -1, 64))
	}
	switch {
	case r.errors >= 100, r.failure != "" && r.total == 0:
		return m.Measurement, errors.New("uperf: " + cmp.Or(r.failure, "all operations failed"))
	case m.Mode == experiment.RR:
		return r.transactions(m, busiest)
	case r.total == 0 && r.master == 0:
		return m.Measurement, errors.New("uperf printed no total: it was ended before, or the output is cut off")
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	if m.Mode != experiment.Stream {
		m.add(result.Goodput, "", cmp.Or(r.total, r.master), "")
		m.note("uperf counts what was written and read together; what its operations are, the profile says.")
		return m.Measurement, nil
	}
	arrived := min(cmp.Or(r.master, r.total), cmp.Or(r.others, r.master, r.total))
	m.add(result.Goodput, "", arrived, "")
	if r.others == 0 {
		m.note("This is what one side of uperf counted: what it handed to its kernel, if it sent.")
	}
	return m.Measurement, nil
}

// transactions reads a profile of requests and responses: a transaction is a write and a read.
func (r *uperfRun) transactions(m *measured, busiest uperfCounts) (result.Measurement, error) {
	m.define(result.DefinitionRate, result.DefinitionRate)
	rate := 0.0
	if busiest.ops > 0 {
		rate = busiest.ops / 2 / ((busiest.end - busiest.begin) * millisecond)
		m.add(result.TransactionRate, "", rate, "")
	}
	switch {
	case r.mean > 0:
		m.define(result.DefinitionRTT, result.DefinitionRTT)
		m.add(result.RTT, result.Mean, r.mean, "")
		m.add(result.RTT, result.Max, r.max, "")
		if r.min > 0 {
			m.add(result.RTT, result.Min, r.min, "")
		}
	case rate > 0 && m.Facts["connections"] == "1":
		m.define(result.DefinitionRate, result.DefinitionRTT)
		m.add(result.RTT, result.Mean, 1/rate, "")
	case rate == 0:
		m.define(result.DefinitionNone, result.DefinitionNone)
		return m.Measurement, errors.New("uperf printed neither averages of transactions (-a) nor raw statistics (-R) of " +
			"this profile, or the output is cut off")
	}
	return m.Measurement, nil
}
