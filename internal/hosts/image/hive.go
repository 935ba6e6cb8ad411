package image

import "encoding/binary"

// The format of registry hives is not published by Microsoft. It is described in "Windows registry file format
// specification" by Maxim Suhanov, whose names are used here.
const (
	hiveBlock = 4096
	// noOffset stands for a part that does not exist.
	noOffset = 0xFFFFFFFF
	// checksumAt is where the base block's checksum is, over the bytes before it.
	checksumAt = 508
)

// emptyHive is a registry hive whose only key is its root, without values.
func emptyHive() []byte {
	le := binary.LittleEndian
	base := make([]byte, hiveBlock)
	copy(base, "regf")
	le.PutUint32(base[4:], 1) // equal sequence numbers: the hive was written completely
	le.PutUint32(base[8:], 1)
	le.PutUint32(base[20:], 1) // version 1.3
	le.PutUint32(base[24:], 3)
	le.PutUint32(base[32:], 1)         // the format of all hives
	le.PutUint32(base[36:], binHeader) // where the root key is
	le.PutUint32(base[40:], hiveBlock) // the size of all bins
	le.PutUint32(base[44:], 1)         // the size of a sector divided by 512
	le.PutUint32(base[checksumAt:], hiveChecksum(base[:checksumAt]))
	return append(base, hiveBin()...)
}

// hiveChecksum is the exclusive or of all 32-bit words. The values 0 and -1 are not used.
func hiveChecksum(b []byte) uint32 {
	var sum uint32
	for ; len(b) > 0; b = b[4:] {
		sum ^= binary.LittleEndian.Uint32(b)
	}
	switch sum {
	case 0:
		return 1
	case 0xFFFFFFFF:
		return 0xFFFFFFFE
	}
	return sum
}

// binHeader is the size of a bin's header in bytes. The first cell, the root key, follows it.
const binHeader = 32

// hiveBin is the only bin: the root key, its security descriptor and free space. Offsets are from the bin's start.
func hiveBin() []byte {
	le := binary.LittleEndian
	const name = "ROOT"
	key := make([]byte, 76, 76+len(name))
	security := securityDescriptor(inheritByAll, []grant{
		{administrators(), keyAllAccess}, {localSystem(), keyAllAccess},
	})
	keyCell := cellSize(len(key) + len(name))
	securityAt := binHeader + keyCell

	copy(key, "nk")
	const isRoot, cannotBeDeleted, nameIsLatin1 = 0x04, 0x08, 0x20
	le.PutUint16(key[2:], isRoot|cannotBeDeleted|nameIsLatin1)
	le.PutUint32(key[16:], noOffset) // no parent
	le.PutUint32(key[28:], noOffset) // no subkeys
	le.PutUint32(key[32:], noOffset) // no volatile subkeys
	le.PutUint32(key[40:], noOffset) // no values
	le.PutUint32(key[44:], uint32(securityAt))
	le.PutUint32(key[48:], noOffset) // no class name
	le.PutUint16(key[72:], uint16(len(name)))
	key = append(key, name...)

	descriptor := make([]byte, 20, 20+len(security))
	copy(descriptor, "sk")
	le.PutUint32(descriptor[4:], uint32(securityAt)) // the next and the previous one in the list: itself
	le.PutUint32(descriptor[8:], uint32(securityAt))
	le.PutUint32(descriptor[12:], 1) // used by one key
	le.PutUint32(descriptor[16:], uint32(len(security)))
	descriptor = append(descriptor, security...)

	bin := make([]byte, hiveBlock)
	copy(bin, "hbin")
	le.PutUint32(bin[8:], hiveBlock)
	putCell(bin[binHeader:], key)
	putCell(bin[securityAt:], descriptor)
	free := securityAt + cellSize(len(descriptor))
	le.PutUint32(bin[free:], uint32(hiveBlock-free)) // a positive size: a free cell
	return bin
}

// cellSize is the size of a cell with that many bytes: with its length, rounded up to eight bytes.
func cellSize(n int) int { return (n + 4 + 7) &^ 7 }

// putCell writes a used cell, whose size is stored as a negative number.
func putCell(to, content []byte) {
	binary.LittleEndian.PutUint32(to, uint32(-int32(cellSize(len(content)))))
	copy(to[4:], content)
}
