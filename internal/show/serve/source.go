package serve

import (
	"context"

	"nearfar/internal/conclude/answer"
)

// Source makes the content of the pages. All paths are paths of run directories.
type Source struct {
	// Answer makes the answer of a run.
	Answer func(path string) (answer.Answer, error)
	// Document makes the JSON document that the page of a run draws.
	Document func(path string) ([]byte, error)
	// Compare makes the JSON document that the page of two runs draws: other compared with base.
	Compare func(ctx context.Context, base, other string) ([]byte, error)
}
