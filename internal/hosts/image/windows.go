package image

import (
	"encoding/base64"
	"strconv"
)

// Attributes of entries in layers for Windows, which Windows' container runtime understands.
const (
	recordAttributes = "MSWINDOWS.fileattr" // the file's attributes, as a decimal number
	recordSecurity   = "MSWINDOWS.rawsd"    // the file's security descriptor, in base64
)

// Attributes of files ([MS-FSCC] 2.6).
const (
	attributeDirectory = 0x10
	attributeArchive   = 0x20
)

// windowsLayers are two layers. The first one is a base without Windows: HostProcess containers run the host's
// programs. Windows wants five registry hives in a base, and checks since Windows Server 2025 that they can be read.
// The second layer holds the agent.
func windowsLayers(agent []byte) ([]*layer, error) {
	folders := []string{"Files/", "Files/Windows/", "Files/Windows/System32/", "Files/Windows/System32/config/"}
	var base []file
	for _, name := range folders {
		base = append(base, windowsFile(name, nil))
	}
	for _, name := range []string{"DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM"} {
		base = append(base, windowsFile(folders[len(folders)-1]+name, emptyHive()))
	}
	first, err := newLayer("a base for HostProcess containers alone: empty registry hives, and no Windows", base)
	if err != nil {
		return nil, err
	}
	second, err := newLayer("the agent", []file{
		windowsFile("Files/", nil), windowsFile("Hives/", nil), windowsFile("Files/"+windowsProgram, agent),
	})
	return []*layer{first, second}, err
}

// windowsFile is an entry that administrators and the system can change, and that all users can read and execute.
func windowsFile(name string, content []byte) file {
	f := file{name: name, mode: 0o755, content: content}
	attributes, flags := attributeArchive, byte(0)
	if name[len(name)-1] == '/' {
		attributes, flags = attributeDirectory, inheritByAll
	}
	security := securityDescriptor(flags, []grant{
		{administrators(), fileAllAccess}, {localSystem(), fileAllAccess}, {users(), fileReadExecute},
	})
	f.records = map[string]string{
		recordAttributes: strconv.Itoa(attributes), recordSecurity: base64.StdEncoding.EncodeToString(security),
	}
	return f
}
