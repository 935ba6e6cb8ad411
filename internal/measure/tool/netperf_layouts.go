package tool

import (
	"encoding/csv"
	"slices"
	"strings"

	"nearfar/internal/base/lazyregexp"
)

// readNetperfPairs reads KEY=value lines (-k).
func readNetperfPairs(run *netperfRun, body []string) bool {
	for _, line := range body {
		if pair := netperfPair.FindStringSubmatch(strings.TrimSpace(line)); pair != nil {
			if key := netperfField(pair[1]); key != "" && run.values[key] == "" {
				run.values[key] = strings.TrimSpace(pair[2])
			}
		}
	}
	return run.values["THROUGHPUT"] != "" || run.values["TRANSACTION_RATE"] != ""
}

// readNetperfCSV reads the header and the row below it, with the columns in any order. A terminal may have wrapped the
// header. A row has a number among its fields, and a header has none.
func readNetperfCSV(run *netperfRun, body []string) bool {
	header := ""
	for _, line := range body {
		switch row := csvFields(line); {
		case line == "" || strings.Contains(line, "AF_INET"), len(header) > 1<<14:
			header = ""
		case !strings.Contains(line, ",") && header == "":
		case header != "" && slices.ContainsFunc(row, isNumber):
			names := csvFields(header)
			if len(names) != len(row) {
				return false
			}
			for i, name := range names {
				if key := netperfField(name); key != "" {
					run.values[key] = strings.TrimSpace(row[i])
				}
			}
			return true
		default:
			header += " " + line
		}
	}
	return false
}

func isNumber(field string) bool {
	_, ok := number(field)
	return ok
}

func csvFields(line string) []string {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes, r.TrimLeadingSpace = true, true
	fields, err := r.Read()
	if err != nil {
		return nil
	}
	return fields
}

var netperfTableUnit = lazyregexp.New(`10\^[369]bits/s|[KMG]?Bytes/s`)

// readNetperfTable reads the fixed tables of the classic tests.
func readNetperfTable(run *netperfRun, body []string) bool {
	var header string
	var rows [][]string
	for _, line := range body {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			if len(rows) > 0 {
				break
			}
			continue
		}
		if _, isNumber := number(fields[0]); isNumber {
			rows = append(rows, fields)
		} else if len(rows) > 0 {
			break
		} else {
			header += " " + strings.Join(fields, " ")
		}
		if len(rows) > 2 || len(header) > 1<<14 {
			break
		}
	}
	if len(rows) == 0 {
		return false
	}
	set := func(row []string, keys ...string) bool {
		if len(row) < len(keys) {
			return false
		}
		for i, key := range keys {
			if key != "" {
				run.values[key] = row[i]
			}
		}
		run.classic = true
		return true
	}
	run.values["THROUGHPUT_UNITS"] = netperfTableUnit.FindString(header)
	switch {
	case strings.Contains(header, "Socket Size Request Resp"),
		// Without headers (-P 0) only the number of fields tells which test it is.
		header == "" && len(rows) == 2 && len(rows[0]) >= 6 && len(rows[1]) == 2:
		run.values["THROUGHPUT_UNITS"] = "Trans/s"
		return set(rows[0], "", "", "REQUEST_SIZE", "RESPONSE_SIZE", "ELAPSED_TIME", "THROUGHPUT")
	case strings.Contains(header, "Recv Send Send"):
		return set(rows[0], "", "", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "THROUGHPUT")
	case strings.Contains(header, "Okay Errors") && len(rows) > 1:
		return set(rows[0], "", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "SENT", "", "THROUGHPUT") &&
			set(rows[1], "", "", "RECEIVED", "THROUGHPUT")
	}
	return false
}

// readNetperfColumns reads the columns of -O and of the omni test: left-aligned, with names of up to four lines.
func readNetperfColumns(run *netperfRun, body []string) bool {
	var block []string
	for _, line := range body {
		if strings.TrimSpace(line) == "" {
			if len(block) > 1 && hasNumber(block[len(block)-1]) {
				break
			}
			continue // a line before the names, or between them and the row
		}
		block = append(block, line)
		if len(block) > 6 {
			return false
		}
	}
	if len(block) < 2 {
		return false
	}
	row := block[len(block)-1]
	starts := []int{}
	for i := range row {
		if row[i] != ' ' && (i == 0 || row[i-1] == ' ') {
			starts = append(starts, i)
		}
	}
	for i, start := range starts {
		end := 1 << 20
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		var name []string
		for _, line := range block[:len(block)-1] {
			if start < len(line) {
				name = append(name, strings.Fields(line[start:min(end, len(line))])...)
			}
		}
		if key := netperfField(strings.Join(name, " ")); key != "" {
			run.values[key] = strings.TrimSpace(row[start:min(end, len(row))])
		}
	}
	_, ok := number(run.values["THROUGHPUT"])
	return ok
}

// hasNumber reports whether a line has a field that is a number. Rows have one, and lines of names have none.
func hasNumber(line string) bool {
	return slices.ContainsFunc(strings.Fields(line), isNumber)
}

var netperfPercentileName = lazyregexp.New(`^(\d{1,2})(?:st|nd|rd|th) percentile latency microseconds`)

// netperfField gives the selector of a name that was printed as KEY, as a CSV header or over a column. It gives "" for
// a name that is not read.
func netperfField(name string) string {
	if netperfPercentileKey.MatchString(name) {
		return name
	}
	switch name = strings.ToLower(strings.Join(strings.Fields(name), " ")); name {
	case "throughput", "throughput_units", "elapsed_time", "protocol", "direction", "burst_size",
		"transaction_rate", "rt_latency",
		"min_latency", "mean_latency", "max_latency", "stddev_latency", "request_size", "response_size",
		"local_send_size",
		"remote_send_size", "local_transport_retrans", "remote_transport_retrans", "transport_mss", "local_cpu_util",
		"local_cpu_count", "remote_cpu_util", "remote_cpu_count", "local_cong_control", "remote_cong_control":
		return strings.ToUpper(name)
	}
	if p := find(netperfPercentileName, name); p != "" {
		return "P" + p + "_LATENCY"
	}
	return netperfColumn(name)
}

// netperfColumn gives the selector of a name in words.
func netperfColumn(name string) string {
	return map[string]string{
		"throughput units":                 "THROUGHPUT_UNITS",
		"elapsed time (sec)":               "ELAPSED_TIME",
		"transaction rate tran/s":          "TRANSACTION_RATE",
		"round trip latency usec/tran":     "RT_LATENCY",
		"minimum latency microseconds":     "MIN_LATENCY",
		"mean latency microseconds":        "MEAN_LATENCY",
		"maximum latency microseconds":     "MAX_LATENCY",
		"stddev latency microseconds":      "STDDEV_LATENCY",
		"request size bytes":               "REQUEST_SIZE",
		"response size bytes":              "RESPONSE_SIZE",
		"initial burst requests":           "BURST_SIZE",
		"local send size":                  "LOCAL_SEND_SIZE",
		"local transport retransmissions":  "LOCAL_TRANSPORT_RETRANS",
		"remote transport retransmissions": "REMOTE_TRANSPORT_RETRANS",
		"transport mss bytes":              "TRANSPORT_MSS",
		"local cpu util %":                 "LOCAL_CPU_UTIL",
		"local cpu count":                  "LOCAL_CPU_COUNT",
		"remote cpu util %":                "REMOTE_CPU_UTIL",
		"remote cpu count":                 "REMOTE_CPU_COUNT",
		"throughput confidence width (%)":  "CONFIDENCE_WIDTH",
		"throughput_confid":                "CONFIDENCE_WIDTH",
	}[name]
}
