// Command nearfar-front answers pages, each of which takes queries of a database. nearfar puts it on a host for the
// workloads that need it.
package main

import (
	"os"

	"nearfar/internal/onhost/front/pages"
)

func main() { os.Exit(pages.Main(os.Stdin, os.Stdout)) }
