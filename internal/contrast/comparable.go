package contrast

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/answer"
	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

// differences says in what two groups of trials do not measure the same thing. Tools may differ: that is warned of.
func differences(base, other []result.Trial) []string {
	if len(base) == 0 || len(other) == 0 {
		return []string{"no good trials on one side"}
	}
	var reasons []string
	for _, property := range append(answer.Properties(), answer.Property{Name: "waiting", Of: waiting}) {
		of := property.Of
		switch property.Name {
		case "tool":
			continue
		case "definition":
			of = definition
		}
		b, n := distinct(base, of), distinct(other, of)
		if property.Name == "waiting" && (slices.Contains(b, "") || slices.Contains(n, "")) {
			continue // some do not say
		}
		if !slices.Equal(b, n) || len(b) > 1 {
			reasons = append(reasons, fmt.Sprintf("%s: %s against %s", property.Name, list(n), list(b)))
		}
	}
	return reasons
}

// definition is what the numbers of a trial are. Those of a stream are rates: the kernel's smoothed round trip, which some
// tools print beside, is not what is compared.
func definition(t result.Trial) string {
	if t.Mode == experiment.Stream {
		return result.DefinitionRate
	}
	return t.Definition
}

// waiting is how both ends of a trial waited for messages; empty where it does not say.
func waiting(t result.Trial) string {
	client, server := t.Facts["wait"], t.Facts["server.wait"]
	if client == "" && server == "" {
		return ""
	}
	return fmt.Sprintf("client %s, server %s", or(client, "unknown"), or(server, "unknown"))
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// otherWorkload says in what two declarations of one name are not the same workload: what each transaction, or the load, is.
// How long and with which sockets it was measured is warned of.
func otherWorkload(base, other experiment.Workload) []string {
	var reasons []string
	for _, p := range []struct {
		name        string
		base, other any
	}{
		// A run of before there was a choice says none: it was IPv4.
		{"ip", cmp.Or(base.IP, experiment.IPv4), cmp.Or(other.IP, experiment.IPv4)},
		{"request", base.Request, other.Request},
		{"response", base.Response, other.Response},
		{"message", base.Message, other.Message},
		{"connections", base.Connections, other.Connections},
		{"rate", base.Rate, other.Rate},
		{"offered rate", base.OfferedRate, other.OfferedRate},
		{"arrivals", base.Arrivals, other.Arrivals},
		{"steps", base.Steps, other.Steps},
		{"batch", base.Batch, other.Batch},
		{"direction", base.Direction, other.Direction},
		{"background", base.Background, other.Background},
		{"timestamps", base.Timestamps, other.Timestamps}, // they cost time in each transaction
	} {
		if b, n := written(p.base), written(p.other); b != n {
			reasons = append(reasons, fmt.Sprintf("%s: %s against %s", p.name, n, b))
		}
	}
	return reasons
}

// measuredOtherwise says in what two declarations of one workload differ that may move its figures.
func measuredOtherwise(base, other experiment.Workload) []string {
	var reasons []string
	for _, p := range []struct {
		name        string
		base, other any
	}{
		{"duration", base.Duration.String(), other.Duration.String()},
		{"warm-up", base.Warmup.String(), other.Warmup.String()},
		{"interval", base.Interval.String(), other.Interval.String()},
		{"zerocopy", base.ZeroCopy, other.ZeroCopy},
		{"sockets", base.Socket, other.Socket},
		{"placement", base.Placement, other.Placement},
	} {
		if b, n := written(p.base), written(p.other); b != n {
			reasons = append(reasons, fmt.Sprintf("%s %s against %s", p.name, n, b))
		}
	}
	return reasons
}

// written is a value in one line, for a message and to be compared.
func written(v any) string {
	switch v := v.(type) {
	case string:
		return or(v, "none")
	case *experiment.Workload:
		if v == nil {
			return "none"
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.ReplaceAll(string(text), `"`, "")
}

func distinct(trials []result.Trial, of func(result.Trial) string) []string {
	var values []string
	for _, t := range trials {
		values = append(values, of(t))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// list joins names with commas, the first of many.
func list(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
