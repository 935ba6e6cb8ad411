package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// lockPatience is how long another nearfar that uses the same index is waited for.
	lockPatience = 30 * time.Second
	lockPause    = 20 * time.Millisecond
)

// takeLock makes this the only process that uses the index, until the file that it returns is closed. An index that is broken
// is removed and made again, and SQLite cannot stand that while another has it open.
func takeLock(ctx context.Context, index string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(index), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(index+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		if err = lock(f); err == nil {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("another nearfar is using the index %s: %w", index, ctx.Err()), f.Close())
		case <-time.After(lockPause):
		}
	}
}
