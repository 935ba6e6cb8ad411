package agentcli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// lookVerb makes the test binary another user of the machine, who looks at what an agent has there.
const lookVerb = "agentcli-test-look"

// Looked is what another user sees.
type Looked struct {
	// Files can be opened, Folders can be listed.
	Files, Folders []string
	// Sockets can be connected to: the name of each, by its inode. Whose they are only root can see.
	Sockets map[string]string
	// Commands are the command lines of processes, Environments and Descriptors those that can be read.
	Commands                  map[int]string
	Environments, Descriptors []int
}

// look looks at the files below a folder, and at the processes.
func look(folder string, pids []string) error {
	l := Looked{Sockets: map[string]string{}, Commands: map[int]string{}}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // cannot be listed
		case d.IsDir():
			if _, err := os.ReadDir(path); err == nil {
				l.Folders = append(l.Folders, path)
			}
			return nil
		}
		if f, err := os.Open(path); err == nil {
			_ = f.Close()
			l.Files = append(l.Files, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sockets, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return err
	}
	const inode = 6 // of proc_net_unix(5); a name follows
	for line := range strings.Lines(string(sockets)) {
		fields := strings.Fields(line)
		if len(fields) <= inode+1 {
			continue
		}
		if name := fields[inode+1]; strings.HasPrefix(name, folder) || strings.Contains(name, "nearfar") {
			if c, err := net.DialTimeout("unix", name, time.Second); err == nil {
				_ = c.Close()
				l.Sockets[fields[inode]] = name
			}
		}
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		of := func(name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }
		line, _ := os.ReadFile(of("cmdline"))
		l.Commands[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		if _, err := os.ReadFile(of("environ")); err == nil {
			l.Environments = append(l.Environments, pid)
		}
		if _, err := os.ReadDir(of("fd")); err == nil {
			l.Descriptors = append(l.Descriptors, pid)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(l)
}
