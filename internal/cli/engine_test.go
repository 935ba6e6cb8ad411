package cli

import (
	"bytes"
	"encoding/json"
	"net"
	"strings"
	"testing"

	"nearfar/internal/onhost/hostverbs"
)

func TestEngineUsage(t *testing.T) {
	t.Setenv(hostverbs.SecretVariable, "")
	for _, c := range []struct {
		args, stdin, want string
	}{
		{"engine rr", "", "name the server"},
		{"engine rr somewhere", "", "HOST:PORT"},
		{"engine rr 127.0.0.1:1", "", hostverbs.SecretVariable},
		{"engine rr 127.0.0.1:1 --secret-stdin", "\n", "first line"},
		{"engine rr 127.0.0.1:1 --secret-stdin", "x\n", "--secret-stdin: the secret has 1 character, and at least 8"},
		{"engine rr 127.0.0.1:1 --secret-stdin", "sieben7", "openssl rand"},
		{
			"engine serve --listen 127.0.0.1:0 --secret-stdin", "sieben7\r\n",
			"the secret has 7 characters, and at least 8",
		},
		{"engine serve --listen 127.0.0.1:0 --secret-stdin", strings.Repeat("long", 257), "longer than 1024 bytes"},
		{"engine rr 127.0.0.1:1 --request 5parsecs", "", "--request"},
		{"engine rr 127.0.0.1:1 --protocol udp --request 64B --response 65B", "", "amplifies"},
		{"engine rr 127.0.0.1:1 --duration 0s", "", "duration"},
		{"engine rr 127.0.0.1:1 -f xml", "", "json"},
		{"engine crr 127.0.0.1:1 --protocol udp", "", "--protocol"},
		{"engine stream 127.0.0.1:1 --connections 0", "", "connections"},
		{"engine stream 127.0.0.1:1 --direction sideways", "", "upload"},
		{"engine stream 127.0.0.1:1 --wait spin", "", "--wait"},
		{"engine messages 127.0.0.1:1 --message 31B", "", "32"},
		{"engine messages 127.0.0.1:1 --rate fast", "", "10000/s"},
		{"engine messages 127.0.0.1:1 --rate NaN", "", "10000/s"},
		{"engine messages 127.0.0.1:1 --batch 5000", "", "batch"},
		{"engine messages 127.0.0.1:1 --congestion reno", "", "congestion"},
		{"engine rr 127.0.0.1:1 --wait sleep", "", "busy-poll"},
		{"engine rr 127.0.0.1:1 --dscp 64", "", "63"},
		{"engine rr 127.0.0.1:1 --send-buffer 1parsec", "", "--send-buffer"},
		{"engine serve --listen 7777", "", "ADDRESS:PORT"},
		{"engine serve --data-port 70000", "", "65535"},
		{"engine serve now", "", "now"},
		{"engine sing", "", "sing"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(strings.Fields(c.args), strings.NewReader(c.stdin), &stdout, &stderr); code != exitUsage {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		if !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%s: %q, and on standard output %q", c.args, &stderr, &stdout)
		}
	}
}

// TestEngineSecretFromEnvironment: a short secret is refused before anything listens or is connected, by the variable's
// name and without the secret.
func TestEngineSecretFromEnvironment(t *testing.T) {
	t.Setenv(hostverbs.SecretVariable, "geheim")
	for _, args := range []string{
		"engine serve --listen 127.0.0.1:0", "engine rr 127.0.0.1:1", "engine load 127.0.0.1:1 --rate 10/s",
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(strings.Fields(args), strings.NewReader(""), &stdout, &stderr); code != exitUsage {
			t.Errorf("%s: exit code %d", args, code)
		}
		said := stderr.String()
		if !strings.Contains(said, hostverbs.SecretVariable+": the secret has 6 characters") ||
			strings.Contains(said, "geheim") {
			t.Errorf("%s: %q", args, said)
		}
	}
}

// TestEngineRefused: nothing listens. The last JSON line says so, and the exit code is 1.
func TestEngineRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"engine", "rr", address, "-f", "json", "--secret-stdin"}
	code := Main(args, strings.NewReader("open sesame\n"), &stdout, &stderr)
	if code != exitFailed || !strings.Contains(stderr.String(), "refused") {
		t.Errorf("exit code %d, %q", code, &stderr)
	}
	var last struct{ Type, Message string }
	err = json.Unmarshal(stdout.Bytes(), &last)
	if err != nil || last.Type != "error" || !strings.Contains(last.Message, "refused") {
		t.Errorf("%v: %q", err, &stdout)
	}
}
