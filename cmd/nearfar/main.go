// Command nearfar measures what a placement, a network feature or a hop costs between two machines.
package main

import (
	"os"

	"nearfar/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
