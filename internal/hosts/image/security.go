package image

import "encoding/binary"

// Access rights ([MS-DTYP] 2.4.3).
const (
	fileAllAccess   = 0x1F01FF
	fileReadExecute = 0x1200A9
	keyAllAccess    = 0xF003F
)

// inheritByAll are the flags in the access rights of a folder or key that make all objects below it inherit them:
// OBJECT_INHERIT_ACE and CONTAINER_INHERIT_ACE.
const inheritByAll = 0x01 | 0x02

// A sid is a security identifier as bytes ([MS-DTYP] 2.4.2.2).
type sid []byte

// newSID is S-1-5-(parts).
func newSID(parts ...uint32) sid {
	s := sid{1, byte(len(parts)), 0, 0, 0, 0, 0, 5}
	for _, p := range parts {
		s = binary.LittleEndian.AppendUint32(s, p)
	}
	return s
}

func administrators() sid { return newSID(32, 544) }
func users() sid          { return newSID(32, 545) }
func localSystem() sid    { return newSID(18) }

// grant gives access rights to an account.
type grant struct {
	to     sid
	rights uint32
}

// securityDescriptor is a self-relative security descriptor ([MS-DTYP] 2.4.6). Its owner is the administrators, its
// group the system.
func securityDescriptor(flags byte, grants []grant) []byte {
	const (
		headerSize      = 20
		daclPresent     = 0x0004
		selfRelative    = 0x8000
		accessAllowed   = 0
		aceHeaderSize   = 8
		aclHeaderSize   = 8
		aclRevision     = 2
		descriptorLevel = 1
	)
	le := binary.LittleEndian
	owner, group := administrators(), localSystem()
	var entries []byte
	for _, g := range grants {
		entries = append(entries, accessAllowed, flags)
		entries = le.AppendUint16(entries, uint16(aceHeaderSize+len(g.to)))
		entries = le.AppendUint32(entries, g.rights)
		entries = append(entries, g.to...)
	}
	d := []byte{descriptorLevel, 0}
	d = le.AppendUint16(d, daclPresent|selfRelative)
	d = le.AppendUint32(d, headerSize)
	d = le.AppendUint32(d, uint32(headerSize+len(owner)))
	d = le.AppendUint32(d, 0) // no SACL
	d = le.AppendUint32(d, uint32(headerSize+len(owner)+len(group)))
	d = append(append(d, owner...), group...)
	d = append(d, aclRevision, 0)
	d = le.AppendUint16(d, uint16(aclHeaderSize+len(entries)))
	d = le.AppendUint16(d, uint16(len(grants)))
	d = le.AppendUint16(d, 0)
	return append(d, entries...)
}
