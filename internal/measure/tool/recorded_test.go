package tool

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nearfar/internal/declare/result"
)

// recordedRun is what a golden file holds of one run.
type recordedRun struct {
	Tool         string
	Mode         string
	Protocol     string
	MessageBytes int
	Seconds      float64
	ReportedAs   string
	Definition   string
	Metrics      []result.Metric
	Facts        map[string]string `json:",omitempty"`
	Notes        []string          `json:",omitempty"`
	Error        string            `json:",omitempty"`
}

func golden(found []Imported) []recordedRun {
	var runs []recordedRun
	for _, f := range found {
		run := recordedRun{
			Tool: strings.TrimSpace(f.Tool.Name + " " + f.Tool.Version), Mode: f.Mode, Protocol: f.Protocol, MessageBytes: f.MessageBytes,
			Seconds: f.Duration.Seconds(), ReportedAs: f.ReportedAs, Definition: f.Definition, Metrics: f.Metrics, Facts: f.Facts, Notes: f.Notes,
		}
		if f.Err != nil {
			run.Error = f.Err.Error()
		}
		runs = append(runs, run)
	}
	return runs
}

// recordings lists what the installed tools printed: testdata/<tool>/<version>/*, without the golden files.
func recordings(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, name := range Formats() {
		dir := filepath.Join("testdata", name)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			continue // latte and ntttcp run on Windows only, or are not packaged
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".golden.json") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestRecorded reads every recording and compares the result with the golden file in the same folder. UPDATE_GOLDEN=1
// writes the golden files again; look at the difference before you keep it.
func TestRecorded(t *testing.T) {
	files := recordings(t)
	if len(files) < 40 {
		t.Fatalf("only %d recordings found", len(files))
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found, err := Import(data, "")
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 {
				t.Fatalf("%d runs found, want 1", len(found))
			}
			if want := strings.Split(filepath.ToSlash(file), "/")[1]; found[0].Tool.Name != want {
				t.Errorf("recognised as %s, want %s", found[0].Tool.Name, want)
			}
			if failed := strings.HasPrefix(filepath.Base(file), "failed") ||
				strings.HasPrefix(filepath.Base(file), "interrupted"); failed != (found[0].Err != nil) {
				t.Errorf("error %v", found[0].Err)
			}
			got := golden(found)
			path := file + ".golden.json"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				out, err := json.MarshalIndent(got, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, append(out, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var wanted []recordedRun
			if err := json.Unmarshal(want, &wanted); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wanted, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("differs from %s (-want +got):\n%s", path, diff)
			}
		})
	}
}

// TestRecordedWrapped reads every recording as other terminals would have left it: CRLF, UTF-16 with a byte order mark,
// and after an echoed ^C. What is read must not change.
func TestRecordedWrapped(t *testing.T) {
	for _, file := range recordings(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Import(data, "")
		if err != nil {
			t.Fatal(err)
		}
		crlf := strings.ReplaceAll(string(data), "\n", "\r\n")
		wide := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(strings.ToValidUTF8(string(data), ""))) {
			wide = binary.LittleEndian.AppendUint16(wide, unit)
		}
		for name, wrapped := range map[string][]byte{
			"crlf":  []byte(crlf),
			"utf16": wide,
			"bom":   append([]byte("\xef\xbb\xbf"), data...),
			"ctrlc": append([]byte("^C"), data...),
			"twice": append(append(append([]byte{}, data...), '\n'), data...),
		} {
			got, err := Import(wrapped, "")
			if err != nil {
				t.Errorf("%s, %s: %v", file, name, err)
				continue
			}
			if diff := cmp.Diff(golden(want), golden(got), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", file, name, diff)
			}
		}
	}
}
