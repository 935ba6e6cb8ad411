package image

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

// checkHive checks what Windows checks when it loads a hive: the base block, and that cells fill the bin.
func checkHive(t *testing.T, hive []byte) {
	t.Helper()
	le := binary.LittleEndian
	if len(hive) != 8192 || string(hive[:4]) != "regf" || string(hive[4096:4100]) != "hbin" {
		t.Fatalf("no hive: %d bytes, %q", len(hive), hive[:min(4, len(hive))])
	}
	var sum uint32
	for at := 0; at < 508; at += 4 {
		sum ^= le.Uint32(hive[at:])
	}
	if sum != le.Uint32(hive[508:]) || le.Uint32(hive[4:]) != le.Uint32(hive[8:]) {
		t.Error("the checksum or the sequence numbers are wrong")
	}
	bin := hive[4096:]
	if size := le.Uint32(hive[40:]); int(size) != len(bin) || le.Uint32(bin[8:]) != size {
		t.Errorf("the bins have %d bytes", size)
	}
	cells := map[uint32][]byte{}
	for at := uint32(32); int(at) < len(bin); {
		size := int32(le.Uint32(bin[at:]))
		used := size < 0
		if used {
			size = -size
		}
		if size < 8 || size%8 != 0 || int(at)+int(size) > len(bin) {
			t.Fatalf("the cell at %d has %d bytes", at, size)
		}
		if used {
			cells[at] = bin[at+4 : at+uint32(size)]
		}
		at += uint32(size)
	}
	root := cells[le.Uint32(hive[36:])]
	if len(cells) != 2 || string(root[:2]) != "nk" {
		t.Fatalf("%d cells, the root is %q", len(cells), root)
	}
	if name := string(root[76 : 76+le.Uint16(root[72:])]); name != "ROOT" {
		t.Errorf("the root key is %q", name)
	}
	at := le.Uint32(root[44:])
	security := cells[at]
	if string(security[:2]) != "sk" || le.Uint32(security[4:]) != at || le.Uint32(security[8:]) != at {
		t.Fatalf("the root's security cell is %q", security)
	}
	got := hex.EncodeToString(security[20 : 20+le.Uint32(security[16:])])
	if want := descriptorOf("03", "3f000f00"); got != want {
		t.Errorf("the root's security descriptor is %s, want %s", got, want)
	}
}

// Identifiers as bytes: S-1-5-32-544 (administrators), S-1-5-18 (the system), S-1-5-32-545 (users).
const (
	administratorsSID = "0102" + "000000000005" + "20000000" + "20020000"
	systemSID         = "0101" + "000000000005" + "12000000"
	usersSID          = "0102" + "000000000005" + "20000000" + "21020000"
)

// descriptorOf is a security descriptor that gives all rights to administrators and the system, and the reading rights
// to users if they are given. Numbers are hexadecimal and little-endian, as in the descriptor.
func descriptorOf(flags, all string, users ...string) string {
	entries := "00" + flags + "1800" + all + administratorsSID + "00" + flags + "1400" + all + systemSID
	count := "0200"
	for _, read := range users {
		entries += "00" + flags + "1800" + read + usersSID
		count = "0300"
	}
	size := hex.EncodeToString(binary.LittleEndian.AppendUint16(nil, uint16(8+len(entries)/2)))
	return strings.Join([]string{
		"0100", "0480", // revision; discretionary access list present, self-relative
		"14000000", "24000000", "00000000", "30000000", // where owner, group, no system list, and access list are
		administratorsSID, systemSID,
		"0200", size, count, "0000", entries,
	}, "")
}

// TestSecurityDescriptor compares the descriptors of files and folders with their bytes by the specification.
func TestSecurityDescriptor(t *testing.T) {
	grants := []grant{
		{administrators(), fileAllAccess}, {localSystem(), fileAllAccess}, {users(), fileReadExecute},
	}
	for flags, text := range map[byte]string{0: "00", inheritByAll: "03"} {
		got := hex.EncodeToString(securityDescriptor(flags, grants))
		if want := descriptorOf(text, "ff011f00", "a9001200"); got != want {
			t.Errorf("flags %d: %s, want %s", flags, got, want)
		}
	}
}
