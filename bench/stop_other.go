//go:build !unix

package main

import (
	"errors"
	"os"
)

// The benchmark runs in a lab, which is of Linux.
var errNoStop = errors.New("no process can be stopped here")

func hold(*os.Process) error { return errNoStop }
func goOn(*os.Process) error { return errNoStop }
