package serve

import (
	"net"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:0":      "127.0.0.1:0",
		"127.0.0.1:8080":   "127.0.0.1:8080",
		"127.8.9.10:65535": "127.8.9.10:65535",
		"localhost:8080":   "127.0.0.1:8080",
		"[::1]:8080":       "[::1]:8080",
	} {
		got, err := loopback(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                    "no address with a port",
		"127.0.0.1":           "no address with a port",
		"127.0.0.1:":          "the port must be a number",
		"127.0.0.1:http":      "the port must be a number",
		"127.0.0.1:65536":     "the port must be a number",
		":8080":               "every network of this machine",
		"0.0.0.0:8080":        "can be reached from other machines",
		"[::]:8080":           "can be reached from other machines",
		"192.168.1.10:8080":   "can be reached from other machines",
		"[::ffff:10.0.0.1]:1": "can be reached from other machines",
		"[::1%eth0]:8080":     "can be reached from other machines",
		"::1:8080":            "goes in brackets",
		"example.org:8080":    "not a loopback address",
		"localhost.evil:80":   "not a loopback address",
		"0177.0.0.1:80":       "not a loopback address",
	} {
		err := CheckAddress(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it refused with %q", text, err, want)
		}
	}
}

// Every accepted address is a loopback address.
func FuzzLoopback(f *testing.F) {
	for _, seed := range []string{
		"127.0.0.1:0", "[::1]:80", "localhost:1", ":1", "0.0.0.0:1", "[::ffff:127.0.0.1]:1", "[fe80::1%lo]:1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		address, err := loopback(text)
		if err != nil {
			return
		}
		ip := net.ParseIP(address.Addr().String())
		if ip == nil || !ip.IsLoopback() {
			t.Errorf("%q is read as %s", text, address)
		}
	})
}
