package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// ReadMachine reads what Windows says of the machine.
func ReadMachine() Machine {
	v := windows.RtlGetVersion()
	m := Machine{
		Kernel: fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber),
		BootID: bootID(),
		Model: strings.TrimSpace(registryText(`HARDWARE\DESCRIPTION\System\CentralProcessor\0`,
			"ProcessorNameString")),
		Memory: memory(),
	}
	const current = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	name := registryText(current, "ProductName")
	// "Windows 10 Pro" is also the name of Windows 11, which begins with build 22000.
	if v.BuildNumber >= 22000 {
		name = strings.Replace(name, "Windows 10", "Windows 11", 1)
	}
	m.Release = map[string]string{
		"ID": "windows", "VERSION_ID": m.Kernel,
		"PRETTY_NAME": strings.TrimSpace(name + " " + registryText(current, "DisplayVersion")),
	}
	for c := range runtime.NumCPU() {
		m.CPUs = append(m.CPUs, CPU{Number: c, Core: -1, Package: -1, Node: -1})
	}
	return m
}

// readFirmware reads what Windows keeps of the firmware in the registry, and the asset tag from the firmware's own
// table.
func readFirmware() Firmware {
	const path = `HARDWARE\DESCRIPTION\System\BIOS`
	return Firmware{
		Vendor: registryText(path, "SystemManufacturer"), Product: registryText(path, "SystemProductName"),
		Board: registryText(path, "BaseBoardManufacturer"), BIOS: registryText(path, "BIOSVendor"),
		AssetTag: assetTag(firmwareTable()),
	}
}

// firmwareTable is the raw table of SMBIOS; nil if Windows does not give it.
func firmwareTable() []byte {
	const (
		provider = uintptr('R')<<24 | 'S'<<16 | 'M'<<8 | 'B'
		most     = 1 << 20
	)
	get := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetSystemFirmwareTable")
	if get.Find() != nil {
		return nil
	}
	size, _, _ := get.Call(provider, 0, 0, 0)
	if size == 0 || size > most {
		return nil
	}
	table := make([]byte, size)
	n, _, _ := get.Call(provider, 0, uintptr(unsafe.Pointer(&table[0])), size)
	if n == 0 || n > size {
		return nil
	}
	return table[:n]
}

// registryText reads a text of the local machine from the registry; empty if that fails.
func registryText(path, name string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer func() { _ = key.Close() }()
	text, _, err := key.GetStringValue(name)
	if err != nil {
		return ""
	}
	return text
}

// bootID identifies the running kernel by a hash of the machine's GUID and the time of its start. It changes when the
// clock is set. It is empty if Windows does not say when it was started.
func bootID() string {
	// SYSTEM_TIMEOFDAY_INFORMATION begins with the time of the start.
	var times [6]int64
	err := windows.NtQuerySystemInformation(windows.SystemTimeOfDayInformation, unsafe.Pointer(&times[0]),
		uint32(unsafe.Sizeof(times)), nil)
	if err != nil {
		return ""
	}
	machine := registryText(`SOFTWARE\Microsoft\Cryptography`, "MachineGuid")
	sum := sha256.Sum256(fmt.Appendf(nil, "nearfar %s %d", machine, times[0]))
	return hex.EncodeToString(sum[:16])
}

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	Length, Load uint32
	Total        uint64
	_            [6]uint64
}

// memory is the size of the machine's memory in bytes; 0 if it is not known.
func memory() int64 {
	var m memoryStatus
	m.Length = uint32(unsafe.Sizeof(m))
	status := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, _ := status.Call(uintptr(unsafe.Pointer(&m))); ok == 0 {
		return 0
	}
	return int64(m.Total)
}
