package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// maxInput bounds how many bytes are read from a file or standard input.
const maxInput = 64 << 20

// readFile reads a file, or standard input for "-", up to maxInput bytes.
func (a *app) readFile(name string) (data []byte, err error) {
	r := a.stdin
	if name != "-" {
		f, openErr := os.Open(name)
		if openErr != nil {
			return nil, openErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		r = f
	}
	tooLarge := fmt.Errorf("%s: larger than %d MiB, the most that is read", name, maxInput>>20)
	most := int64(maxInput)
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			most = info.Size()
		}
	}
	if most > maxInput {
		return nil, tooLarge
	}
	// Allocate the most first: a buffer that grows needs several times as much memory. What is not written to takes none.
	var into bytes.Buffer
	into.Grow(int(most) + bytes.MinRead)
	_, err = into.ReadFrom(io.LimitReader(r, maxInput+1))
	data = into.Bytes()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, tooLarge
	}
	return data, nil
}

// given is the first of these flags that was given, as changed says; empty for none.
func given(changed func(flag string) bool, flags ...string) string {
	if at := slices.IndexFunc(flags, changed); at >= 0 {
		return flags[at]
	}
	return ""
}

// argumentOr is the first argument, or what a verb takes without one.
func argumentOr(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return seeHelp(cmd, err)
		}
		return nil
	}
}
