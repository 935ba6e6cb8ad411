package supervise

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"

	"nearfar/internal/onhost/host"
)

// createSuspended creates a process whose first thread does not run yet. It inherits the three files as its standard
// streams, and no other handle. It is the first of a process group of its own, so that CTRL+BREAK reaches it and
// CTRL+C at the agent's console does not.
func createSuspended(path string, c Command, dir string, files [3]*os.File) (*windows.ProcessInformation, error) {
	fail := func(err error) (*windows.ProcessInformation, error) {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	var texts [3]*uint16
	for i, text := range []string{path, windows.ComposeCommandLine(c.Argv), dir} {
		var err error
		if texts[i], err = windows.UTF16PtrFromString(text); err != nil {
			return fail(err)
		}
	}
	if dir == "" {
		texts[2] = nil
	}
	environment, err := environmentBlock(mergeEnv(os.Environ(), c.Env))
	if err != nil {
		return fail(err)
	}
	var handles [3]windows.Handle
	for i, f := range files {
		handles[i] = windows.Handle(f.Fd())
		const inherit = windows.HANDLE_FLAG_INHERIT
		if err := windows.SetHandleInformation(handles[i], inherit, inherit); err != nil {
			return fail(os.NewSyscallError("SetHandleInformation", err))
		}
	}
	attributes, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return fail(os.NewSyscallError("InitializeProcThreadAttributeList", err))
	}
	defer attributes.Delete()
	err = attributes.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&handles[0]),
		unsafe.Sizeof(handles))
	if err != nil {
		return fail(os.NewSyscallError("UpdateProcThreadAttribute", err))
	}
	startup := windows.StartupInfoEx{
		StartupInfo: windows.StartupInfo{
			Flags: windows.STARTF_USESTDHANDLES, StdInput: handles[0], StdOutput: handles[1], StdErr: handles[2],
		},
		ProcThreadAttributeList: attributes.List(),
	}
	startup.Cb = uint32(unsafe.Sizeof(startup))
	info := &windows.ProcessInformation{}
	const flags = windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_UNICODE_ENVIRONMENT |
		windows.EXTENDED_STARTUPINFO_PRESENT
	err = windows.CreateProcess(texts[0], texts[1], nil, nil, true, flags, &environment[0], texts[2],
		&startup.StartupInfo, info)
	runtime.KeepAlive(files)
	if errors.Is(err, windows.ERROR_FILE_NOT_FOUND) || errors.Is(err, windows.ERROR_PATH_NOT_FOUND) {
		return nil, fmt.Errorf("%w: %s: %w", host.ErrNotFound, path, err)
	}
	if err != nil {
		return fail(os.NewSyscallError("CreateProcess", err))
	}
	return info, nil
}

// mergeEnv lets later settings of a variable replace earlier ones. Names are the same in upper and lower case. The
// names of some variables of cmd.exe begin with "=".
func mergeEnv(base, added []string) []string {
	at := map[string]int{}
	var env []string
	for _, kv := range slices.Concat(base, added) {
		if kv == "" {
			continue
		}
		name := kv
		if i := strings.IndexByte(kv[1:], '='); i >= 0 {
			name = kv[:i+1]
		}
		name = strings.ToUpper(name)
		if i, ok := at[name]; ok {
			env[i] = kv
			continue
		}
		at[name] = len(env)
		env = append(env, kv)
	}
	return env
}

// environmentBlock is an environment in the form that CreateProcess wants: settings that end with NUL, and a NUL at the
// end.
func environmentBlock(env []string) ([]uint16, error) {
	slices.SortFunc(env, func(a, b string) int { return strings.Compare(strings.ToUpper(a), strings.ToUpper(b)) })
	var block []uint16
	for _, kv := range env {
		if strings.ContainsRune(kv, 0) {
			return nil, errors.New("a setting of the environment contains a NUL")
		}
		block = append(block, utf16.Encode([]rune(kv))...)
		block = append(block, 0)
	}
	if len(block) == 0 {
		block = append(block, 0)
	}
	return append(block, 0), nil
}
