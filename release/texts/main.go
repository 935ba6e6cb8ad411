// Command texts writes what is made of nearfar's command line: its manual pages and its completions for shells.
//
//	texts FOLDER SECONDS    man and completions below FOLDER; the pages have the date of SECONDS since 1970
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"nearfar/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "texts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: texts FOLDER SECONDS")
	}
	seconds, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	return write(args[0], time.Unix(seconds, 0).UTC())
}

// write writes all texts below a folder.
func write(folder string, at time.Time) error {
	man, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	for _, made := range []string{man, completions} {
		if err := os.MkdirAll(made, 0o755); err != nil {
			return err
		}
	}
	root := cli.Manual()
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "nearfar", Manual: "nearfar", Date: &at}
	if err := doc.GenManTree(root, header, man); err != nil {
		return err
	}
	for name, complete := range map[string]func(*cobra.Command, string) error{
		"nearfar.bash": func(c *cobra.Command, file string) error { return c.GenBashCompletionFileV2(file, true) },
		"_nearfar":     (*cobra.Command).GenZshCompletionFile,
		"nearfar.fish": func(c *cobra.Command, file string) error { return c.GenFishCompletionFile(file, true) },
		"nearfar.ps1":  (*cobra.Command).GenPowerShellCompletionFileWithDesc,
	} {
		if err := complete(root, filepath.Join(completions, name)); err != nil {
			return err
		}
	}
	return nil
}
