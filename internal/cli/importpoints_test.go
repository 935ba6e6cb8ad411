package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/base/pcapfile"
)

// recordedPoints are the flags for captures that tcpdump and dumpcap recorded.
func recordedPoints(t *testing.T) (folder string, flags []string) {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "measure", "recordings", "captures", "testdata", "vtep"))
	if err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{
		"client=client.pcap", "a-before=a-before.pcap,clock=a", "a-behind=a-behind.pcap,clock=a",
		"b-behind=b.pcapng:ul0,clock=b", "b-before=b.pcapng:p0,clock=b"} {
		name, file, _ := strings.Cut(point, "=")
		flags = append(flags, "--point", name+"="+filepath.Join(folder, file))
	}
	return folder, flags
}

const recordedSegments = `tcp from 10.1.0.1 to 10.1.1.2:5000: 120 transactions were seen at every point. All times are in us.

POINT     CLOCK        PACKETS  EXCHANGES  CARRIED    TURNAROUND P50  P99
client    client.pcap  250      120        plain      22.00           -
a-before  a            250      120        plain      19.65           -
a-behind  a            250      120        vxlan 257  15.03           -
b-behind  b            250      120        vxlan 257  12.03           -
b-before  b            250      120        plain      8.11            -

SEGMENT              BOTH WAYS P50  INTERVAL      P99  THERE P50  INTERVAL      BACK P50  INTERVAL
client - a-before    2.25           2.11 .. 2.35  -    -          -             -         -
a-before - a-behind  4.66           4.61 .. 4.84  -    2.17       2.15 .. 2.19  2.46      2.46 .. 2.49
a-behind - b-behind  3.04           3.03 .. 3.13  -    -          -             -         -
b-behind - b-before  3.92           3.91 .. 4.05  -    2.19       2.18 .. 2.21  1.73      1.73 .. 1.74
beyond b-before      8.11           7.66 .. 8.20  -    -          -             -         -

- this is one capture: intervals say how sure its own medians are, not what another capture would show
- 3 clocks: a segment between two of them is known for there and back together only
- client: time stamps in units of 1 us; a time of one transaction is right within that
- other conversations were seen at every point, for example tcp 10.1.0.1 to 10.1.1.2:7777: choose with --server
`

// TestImportPoints prints the segments of recorded captures.
func TestImportPoints(t *testing.T) {
	folder, flags := recordedPoints(t)
	code, stdout, stderr := runImport("", flags...)
	stdout = strings.ReplaceAll(stdout, folder+string(filepath.Separator), "")
	var lines []string // the columns are as wide as the folder's name
	for line := range strings.Lines(stdout) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	var want []string
	for line := range strings.Lines(recordedSegments) {
		want = append(want, strings.Join(strings.Fields(line), " "))
	}
	if diff := cmp.Diff(want, lines); code != exitDone || stderr != "" || diff != "" {
		t.Errorf("exit %d, %s\n%s", code, stderr, diff)
	}
}

// TestImportPointsJSON: the JSON has the same figures, in seconds.
func TestImportPointsJSON(t *testing.T) {
	_, flags := recordedPoints(t)
	code, stdout, stderr := runImport("", append(flags, "--json", "--server", "10.1.1.2:5000")...)
	var r struct {
		Unit     string
		Captures int
		Matched  int
		Interval string `json:"interval_of"`
		Segments []struct {
			From, To          string
			Both, There, Back *struct {
				P50      float64
				Interval [2]float64
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != exitDone || stderr != "" {
		t.Fatalf("exit %d, %s %v", code, stderr, err)
	}
	s := r.Segments[1]
	if r.Unit != "s" || r.Captures != 1 || r.Matched != 120 || r.Interval != "within-capture" || s.From != "a-before" ||
		s.To != "a-behind" || s.There.P50 < 2.1e-6 || s.There.P50 > 2.2e-6 || s.Both.Interval[0] > s.Both.P50 ||
		r.Segments[0].There != nil || r.Segments[4].To != "" {
		t.Errorf("%s", stdout)
	}
}

// TestImportCaptureAsOutput: whoever gives a capture as the output of a program learns of --point.
func TestImportCaptureAsOutput(t *testing.T) {
	folder, _ := recordedPoints(t)
	for _, name := range []string{"client.pcap", "b.pcapng"} {
		code, _, stderr := runImport("", filepath.Join(folder, name))
		if code != exitFailed || !strings.Contains(stderr, "this is a capture of packets: write --point NAME=FILE") {
			t.Errorf("exit %d, %s", code, stderr)
		}
	}
}

// TestImportPointHostile: the names of interfaces come from the file, and reach the terminal without its control codes.
func TestImportPointHostile(t *testing.T) {
	folder, _ := recordedPoints(t)
	data, err := os.ReadFile(filepath.Join(folder, "a-before.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := pcapfile.NewWriter(&file, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"\x1b[31mred", "two\nlines"} {
		if _, err := w.AddInterface(pcapfile.Interface{Name: name, Link: pcapfile.Ethernet}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pcapfile.All("a", bytes.NewReader(data), func(p pcapfile.Packet) error {
		return errors.Join(w.Write(0, p.Time, p.Length, p.Data, ""), w.Write(1, p.Time+1, p.Length, p.Data, ""))
	}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{"a=" + path, "a=" + path + ":nothing"} {
		code, _, stderr := runImport("", "--point", point)
		if code != exitFailed || !strings.Contains(stderr, "red") || strings.Contains(stderr, "\x1b") ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit %d, %q", code, stderr)
		}
	}
	// By its number each one can be named.
	if code, stdout, stderr := runImport("", "--point", "a="+path+":1"); code != exitDone ||
		!strings.Contains(stdout, "120 transactions") {
		t.Errorf("exit %d, %s %s", code, stdout, stderr)
	}
}

// TestImportPointWithColon: a file whose name has a colon is that file, if it is there.
func TestImportPointWithColon(t *testing.T) {
	folder, _ := recordedPoints(t)
	data, err := os.ReadFile(filepath.Join(folder, "a-before.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "21:05.pcap")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Skipf("this system has no such names: %v", err)
	}
	code, stdout, stderr := runImport("", "--point", "a="+file)
	if code != exitDone || !strings.Contains(stdout, "beyond a") {
		t.Errorf("exit %d, %s %s", code, stdout, stderr)
	}
}
