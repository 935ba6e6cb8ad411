package check

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// rawSMBIOS makes what GetSystemFirmwareTable gives.
func rawSMBIOS(table []byte) []byte {
	raw := []byte{0, 3, 1, 0, 0, 0, 0, 0}
	binary.LittleEndian.PutUint32(raw[4:], uint32(len(table)))
	return append(raw, table...)
}

// structure makes a structure of SMBIOS.
func structure(kind byte, formatted []byte, texts ...string) []byte {
	b := append([]byte{kind, byte(smbiosHeader + len(formatted)), 0, 0}, formatted...)
	b = append(b, strings.Join(texts, "\x00")...)
	return append(b, 0, 0)
}

// TestAssetTag: the chassis' tag is found behind other structures, and in no other structure.
func TestAssetTag(t *testing.T) {
	const azure = "7783-7084-3265-9085-8269-3286-77"
	bios := structure(0, make([]byte, 20), "American Megatrends International, LLC.", "Hyper-V UEFI Release v4.1")
	none := structure(2, make([]byte, 10))
	// Manufacturer 1, type, version 2, serial number 3, asset tag 4.
	chassis := structure(smbiosChassis, []byte{1, 3, 2, 3, 4, 3, 3, 3, 3}, "Microsoft Corporation", "7.0", "0000-1", azure)
	end := structure(smbiosEnd, nil)
	for name, c := range map[string]struct {
		table []byte
		want  string
	}{
		"azure":      {append(append(append(append([]byte{}, bios...), none...), chassis...), end...), azure},
		"no chassis": {append(append([]byte{}, bios...), end...), ""},
		"no tag":     {structure(smbiosChassis, []byte{1, 3, 0, 0, 0, 3}, "QEMU"), ""},
		"old":        {structure(smbiosChassis, []byte{1, 3}, "QEMU"), ""}, // SMBIOS 2.0 has no more
		"cut":        {chassis[:len(chassis)-5], ""},
		"empty":      {nil, ""},
	} {
		if got := assetTag(rawSMBIOS(c.table)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	f := Firmware{Vendor: "Microsoft Corporation", AssetTag: assetTag(rawSMBIOS(chassis))}
	if f.Cloud() != CloudAzure {
		t.Errorf("the cloud is %q", f.Cloud())
	}
}

// TestAssetTagOfThisMachine reads the table of a real firmware, and compares with what Linux reads from it.
func TestAssetTagOfThisMachine(t *testing.T) {
	table, err := os.ReadFile("/sys/firmware/dmi/tables/DMI")
	if err != nil {
		t.Skipf("the kernel shows no SMBIOS table: %v", err)
	}
	want, err := os.ReadFile("/sys/class/dmi/id/chassis_asset_tag")
	if err != nil {
		t.Skipf("the kernel shows no asset tag: %v", err)
	}
	if got := assetTag(rawSMBIOS(table)); got != strings.TrimSpace(string(want)) {
		t.Errorf("%q, and Linux reads %q", got, want)
	}
}

func FuzzAssetTag(f *testing.F) {
	f.Add(rawSMBIOS(structure(smbiosChassis, []byte{1, 3, 2, 3, 4}, "a", "b", "c", "d")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if tag := assetTag(raw); len(tag) > len(raw) {
			t.Errorf("a tag of %d bytes from %d", len(tag), len(raw))
		}
	})
}
