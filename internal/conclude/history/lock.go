package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nearfar/internal/base/files"
)

const (
	// lockPatience is how long to wait for another nearfar that uses the same index, lockPause how long between two
	// attempts.
	lockPatience = 30 * time.Second
	lockPause    = 20 * time.Millisecond
)

// takeLock makes this process the only user of the index, until the returned file is closed. The lock is needed because
// a broken index is deleted and made again, which fails while another process has the database open. The error says
// that another process did not release the lock in time.
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
		if err = files.Lock(f); err == nil {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("another nearfar is using the index %s: %w", index, ctx.Err()),
				f.Close())
		case <-time.After(lockPause):
		}
	}
}
