// Package main holds the loops of rr and little else: a test reads its machine code.
package main

import (
	"context"
	"fmt"
	"os"

	"nearfar/internal/onhost/engine/rr"
	"nearfar/internal/onhost/engine/session"
)

func main() {
	ctx := context.Background()
	_, err := session.Run(ctx, session.RunOptions{}, rr.Measure, nil)
	fmt.Fprintln(os.Stderr, err, session.Serve(ctx, session.ServeOptions{}, rr.Serve))
}
