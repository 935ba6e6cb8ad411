package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestPush: the figures go to the group's address, as the gateway reads them. A gateway that refuses them is a failure
// with its words, without the password in the address.
func TestPush(t *testing.T) {
	writeHistory(t)
	runs, err := filepath.Glob(filepath.Join("runs", "*"))
	if err != nil || len(runs) == 0 {
		t.Fatal(runs, err)
	}
	var method, path, kind, text string
	status := http.StatusAccepted
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		method, path, kind, text = r.Method, r.URL.Path, r.Header.Get("Content-Type"), string(body)
		w.WriteHeader(status)
		if status != http.StatusAccepted {
			_, _ = io.WriteString(w, "pushed metrics are\x1b[31m invalid")
		}
	}))
	defer gateway.Close()
	address := strings.Replace(gateway.URL, "http://", "http://user:secret@", 1) + "/metrics/job/nearfar"
	push := func(code int) string {
		t.Helper()
		stdout, stderr := command(t, code, "report", "-f", "prometheus", "--push", address, runs[0])
		if stdout != "" || strings.Contains(stderr, "secret") || strings.Contains(stderr, "\x1b") {
			t.Errorf("it printed %q and %q", stdout, stderr)
		}
		return stderr
	}
	if said := push(exitDone); !strings.Contains(said, "/metrics/job/nearfar") {
		t.Errorf("it said %q", said)
	}
	printed, _ := command(t, exitDone, "report", "-f", "prometheus", runs[0])
	if method != http.MethodPut || path != "/metrics/job/nearfar" || text != printed ||
		!strings.HasPrefix(kind, "text/plain; version=0.0.4") ||
		!strings.Contains(text, "\n# TYPE nearfar_run_info gauge\nnearfar_run_info{") {
		t.Errorf("%s %s, %s:\n%s", method, path, kind, text)
	}
	status = http.StatusBadRequest
	if said := push(exitFailed); !strings.Contains(said, "not pushed") || !strings.Contains(said, "400 Bad Request") {
		t.Errorf("after a refusal it said %q", said)
	}
	gateway.Close()
	if said := push(exitFailed); !strings.Contains(said, "not pushed") {
		t.Errorf("without a gateway it said %q", said)
	}
	for _, wrong := range [][]string{
		{"-f", "prometheus", "--push", "pushgateway:9091"}, {"-f", "openmetrics", "--push", address},
		{"-f", "prometheus", "--push", address, "-o", "x.prom"}, {"--push", address},
	} {
		_, said := command(t, exitUsage, append(append([]string{"report"}, wrong...), runs[0])...)
		if strings.Contains(said, "secret") {
			t.Errorf("%q says %q", wrong, said)
		}
	}
}
