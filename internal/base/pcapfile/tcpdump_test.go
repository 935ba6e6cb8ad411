//go:build linux

package pcapfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTcpdump: tcpdump reads what the writer writes, and the reader reads what tcpdump writes from that.
func TestTcpdump(t *testing.T) {
	tcpdump, err := exec.LookPath("tcpdump")
	if err != nil {
		t.Fatalf("tcpdump must be installed for this test: %v", err)
	}
	var file bytes.Buffer
	w, err := NewWriter(&file, "nearfar", "a run")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"client", "vtep-a"} {
		if _, err := w.AddInterface(Interface{Name: name, Link: Ethernet, Snaplen: 96}); err != nil {
			t.Fatal(err)
		}
	}
	const now = 1_795_808_765_123_456_789
	packet := append([]byte{13: 0, 12: 8}, append([]byte{0x45, 0, 0, 33, 0, 7, 0, 0, 64, 17,
		0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40, 0x13, 0x88,
		0, 13, 0, 0}, "hello"...)...)
	for i := range 2 {
		if err := w.Write(i, now+int64(i), len(packet), packet, "trial 3"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if err := w.Counts(i, now+2, 5, 4); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	written, again := filepath.Join(dir, "a.pcapng"), filepath.Join(dir, "b.pcap")
	if err := os.WriteFile(written, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(tcpdump, "-nn", "-tt", "--nano", "-r", written).CombinedOutput()
	want := "1795808765.123456789 IP 10.0.0.1.40000 > 10.0.0.2.5000: UDP, length 5\n" +
		"1795808765.123456790 IP 10.0.0.1.40000 > 10.0.0.2.5000: UDP, length 5\n"
	if err != nil || !strings.HasSuffix(string(text), want) {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := exec.Command(tcpdump, "--nano", "-r", written, "-w", again).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	data, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	got, truncated, err := readAll(t, data)
	if err != nil || truncated != "" || len(got) != 2 || got[0].time != now || got[1].data != string(packet) ||
		got[0].link != Ethernet || binary.LittleEndian.Uint32(data) != 0xa1b23c4d {
		t.Errorf("%+v %q %v", got, truncated, err)
	}
}
