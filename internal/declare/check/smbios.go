package check

import (
	"bytes"
	"encoding/binary"
)

// The structure of a chassis in SMBIOS, and where its asset tag is (DMTF DSP0134, System Enclosure or Chassis, type 3,
// offset 08h: the number of a string).
const (
	smbiosChassis  = 3
	smbiosAssetTag = 0x08
	smbiosEnd      = 127
	// smbiosHeader is the length of a structure's header: type, length, handle.
	smbiosHeader = 4
	// smbiosRaw is the length of what precedes the table in RawSMBIOSData (Windows, GetSystemFirmwareTable): calling
	// method, major and minor version, DMI revision, and the length of the table in four bytes.
	smbiosRaw = 8
)

// assetTag is the asset tag of the first chassis in what GetSystemFirmwareTable gives for RSMB; empty if there is none.
func assetTag(raw []byte) string {
	if len(raw) < smbiosRaw {
		return ""
	}
	table := raw[smbiosRaw:]
	if n := binary.LittleEndian.Uint32(raw[4:]); uint64(n) < uint64(len(table)) {
		table = table[:n]
	}
	for len(table) >= smbiosHeader {
		kind, length := table[0], int(table[1])
		if length < smbiosHeader || length > len(table) || kind == smbiosEnd {
			return ""
		}
		formatted := table[:length]
		// The strings follow, each with a NUL at its end, and one NUL more after the last.
		texts := table[length:]
		end := bytes.Index(texts, []byte{0, 0})
		if end < 0 {
			return ""
		}
		if kind == smbiosChassis && length > smbiosAssetTag {
			return smbiosText(texts[:end], int(formatted[smbiosAssetTag]))
		}
		table = texts[end+2:]
	}
	return ""
}

// smbiosText is the string with a number, from 1; empty if there is none.
func smbiosText(texts []byte, number int) string {
	all := bytes.Split(texts, []byte{0})
	if number < 1 || number > len(all) {
		return ""
	}
	return string(bytes.TrimSpace(all[number-1]))
}
