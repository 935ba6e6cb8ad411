// Command nearfar-agent runs measuring programs on a host for nearfar, which runs elsewhere.
package main

import (
	"os"

	"nearfar/internal/onhost/agentcli"
)

func main() { os.Exit(agentcli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
