//go:build linux

// Package winetest lets tests run programs for Windows under Wine. It adds what programs built with Go need and Wine 8
// does not have.
package winetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Wine is a Wine prefix, in which programs for Windows run.
type Wine struct {
	// Loader runs a program: its path is the first argument. It becomes that program's process. Env is added to the
	// environment.
	Loader string
	Env    []string
	// Folder is one for the programs and their files.
	Folder string

	compiler, system32 string
	sockets            sync.Once
}

// patience limits each step that prepares the prefix.
const patience = 2 * time.Minute

// New makes a new prefix, whose processes end with the test. It takes a few seconds. It fails the test if Wine or the
// compiler is missing.
func New(t *testing.T) *Wine {
	t.Helper()
	server := need(t, "wine", "wineserver", "/usr/lib/wine/wineserver")
	home := t.TempDir()
	prefix := filepath.Join(home, "prefix")
	w := &Wine{
		Loader:   filepath.Join(home, "wine"),
		compiler: need(t, "gcc-mingw-w64-x86-64", "x86_64-w64-mingw32-gcc"),
		Env: []string{
			"WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=", "DISPLAY=",
		},
		Folder: filepath.Join(home, "files"), system32: filepath.Join(prefix, "drive_c", "windows", "system32"),
	}
	for _, folder := range []string{prefix, w.Folder} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	loader := fmt.Sprintf(loader, need(t, "wine64", "wine64", "/usr/lib/wine/wine64"))
	if err := os.WriteFile(w.Loader, []byte(loader), 0o700); err != nil {
		t.Fatal(err)
	}
	// Not with the test's context, which has ended by then.
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		end := exec.CommandContext(ctx, server, "-k")
		end.Env = append(os.Environ(), w.Env...)
		if err := end.Run(); err != nil {
			t.Errorf("ending Wine: %v", err)
		}
	})
	// The server stays until -k. One that ends by itself between two programs can end the second with it.
	w.run(t, server, "-p")
	w.run(t, w.Loader, "wineboot", "-i")
	source := filepath.Join(home, "prng.c")
	if err := os.WriteFile(source, []byte(prng), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(t, w.compiler, "-shared", "-o", filepath.Join(w.system32, "bcryptprimitives.dll"), source, "-ladvapi32")
	return w
}

// loader is a script that starts Wine's loader, given as its path, with its heap directly behind its code. Since
// Linux 6.9 the heap starts anywhere in the gigabyte behind the code, and Wine 8 wants one page in there for itself,
// at 0x7ffe0000. Where the heap had that page, a program ended at its start, with exit status 1 and without a
// message. What the program starts inherits the setting. A container may forbid it, which is no reason not to run.
const loader = `#!/bin/sh
wine='%s'
setarch -R true 2>/dev/null && exec setarch -R "$wine" "$@"
exec "$wine" "$@"
`

// OnWindows is the path of a file of this machine as programs under Wine name it.
func OnWindows(path string) string { return `Z:` + strings.ReplaceAll(path, "/", `\`) }

// run runs a program without pipes: these programs start processes that stay in the background and keep inherited files
// open.
func (w *Wine) run(t *testing.T, argv ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), w.Env...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
}

// need finds a program on PATH or elsewhere. It fails the test if the program is missing.
func need(t *testing.T, debianPackage, program string, elsewhere ...string) string {
	t.Helper()
	for _, place := range append([]string{program}, elsewhere...) {
		if path, err := exec.LookPath(place); err == nil {
			return path
		}
	}
	t.Fatalf("%s is needed: install the package %s, or run scripts/install-tools.sh test", program, debianPackage)
	return ""
}

// prng is the source of a library that Go's runtime needs at its start and Wine 8 does not have. It returns random
// bytes.
const prng = `#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
	return length <= 0xffffffffu && SystemFunction036(buffer, (ULONG)length);
}
`

// sockets is the source of a library that passes calls on to Windows' sockets, but ignores two requests. Go makes them
// for every UDP socket, and Wine 8 refuses them: SIO_UDP_CONNRESET and SIO_UDP_NETRESET, which turn off reports of ICMP
// errors.
const sockets = `#include <windows.h>
typedef int (WINAPI *ioctl)(UINT_PTR, DWORD, void *, DWORD, void *, DWORD, DWORD *, void *, void *);
int WINAPI udp_ioctl(UINT_PTR s, DWORD code, void *in, DWORD in_size, void *out, DWORD out_size, DWORD *got,
	void *overlapped, void *routine)
{
	ioctl real = (ioctl)GetProcAddress(LoadLibraryA("ws2_32.dll"), "WSAIoctl");
	if (code == 0x9800000C || code == 0x9800000F) {
		if (got)
			*got = 0;
		return 0;
	}
	return real(s, code, in, in_size, out, out_size, got, overlapped, routine);
}
`

// socketCalls are the other functions of Windows' sockets that Go calls.
const socketCalls = `FreeAddrInfoW GetAddrInfoW WSACleanup WSADuplicateSocketW WSAEnumProtocolsW
WSAGetOverlappedResult WSARecv WSARecvFrom WSASend WSASendTo WSASocketW WSAStartup bind closesocket connect
gethostbyname getpeername getprotobyname getservbyname getsockname getsockopt listen ntohs setsockopt shutdown socket`

// WithUDP makes a copy of a program built with Go that can open UDP sockets, at a path below Folder. The copy loads
// another library of sockets than the system's: the name is replaced by one of the same length.
func (w *Wine) WithUDP(t *testing.T, program, path string) string {
	t.Helper()
	const library, instead = "ws2_32.dll", "ws2_3x.dll"
	image, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(image, []byte(library)) {
		t.Fatalf("%s does not name %s", program, library)
	}
	copied := filepath.Join(w.Folder, path)
	if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, bytes.ReplaceAll(image, []byte(library), []byte(instead)), 0o700); err != nil {
		t.Fatal(err)
	}
	w.sockets.Do(func() {
		exports := "EXPORTS\nWSAIoctl = udp_ioctl\n"
		for name := range strings.FieldsSeq(socketCalls) {
			exports += name + " = ws2_32." + name + "\n"
		}
		source, names := filepath.Join(w.Folder, "sockets.c"), filepath.Join(w.Folder, "sockets.def")
		for name, content := range map[string]string{source: sockets, names: exports} {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w.run(t, w.compiler, "-shared", "-o", filepath.Join(w.system32, instead), source, names)
	})
	return copied
}

// Build builds a package of this module for Windows, without symbols, as released builds are. If test is set, it builds
// the package's test program.
func (w *Wine) Build(t *testing.T, file, path string, test bool) string {
	t.Helper()
	argv := []string{"build", "-trimpath", "-ldflags=-s -w", "-buildvcs=false", "-o"}
	if test {
		argv = []string{"test", "-c", "-trimpath", "-ldflags=-s -w", "-o"}
	}
	built := filepath.Join(w.Folder, file)
	cmd := exec.CommandContext(t.Context(), "go", append(argv, built, path)...)
	cmd.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return built
}
