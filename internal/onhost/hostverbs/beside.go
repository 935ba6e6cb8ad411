package hostverbs

import (
	"io"

	"nearfar/internal/declare/beside"
)

// optionsOf reads the options of a program that looks at a trial.
func optionsOf[T any](stdin io.Reader, decode func([]byte) (T, error)) (options T, err error) {
	text, err := io.ReadAll(io.LimitReader(stdin, beside.MaxOptions+1))
	if err == nil {
		options, err = decode(text)
	}
	if err != nil {
		return options, usagef("the options on standard input: %w", err)
	}
	return options, nil
}
