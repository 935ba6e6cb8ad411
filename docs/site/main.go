// Command site makes a static site of the project's documentation: one page for each Markdown file to which README.md
// or docs/README.md leads, with the pages of docs/README.md as a menu. It fails if a link leads nowhere, or if
// docs/README.md does not lead to each page of docs.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the folder of the project")
	out := flag.String("out", "dist/site", "the folder of the site")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes the site, or nothing if the documentation has mistakes.
func run(root, out string) error {
	s, err := read(os.DirFS(root))
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if err := s.write(out); err != nil {
		return err
	}
	fmt.Printf("%d pages in %s; begin with index.html\n", len(s.pages), out)
	return nil
}
