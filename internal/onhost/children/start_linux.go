package children

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"nearfar/internal/onhost/host"
)

// LookPath finds a program on PATH. The name self stands for this program.
func LookPath(name, self string) (string, error) {
	if name == self && self != "" {
		return "/proc/self/exe", nil // in the child, which is this program until it executes
	}
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("%w: no %q on PATH", host.ErrNotFound, name)
	case err != nil:
		return "", err
	}
	return path, nil
}

// MergeEnv lets later settings of a variable replace earlier ones.
func MergeEnv(base, added []string) []string {
	at := map[string]int{}
	var env []string
	for _, all := range [][]string{base, added} {
		for _, kv := range all {
			name, _, _ := strings.Cut(kv, "=")
			if i, ok := at[name]; ok {
				env[i] = kv
				continue
			}
			at[name] = len(env)
			env = append(env, kv)
		}
	}
	return env
}
