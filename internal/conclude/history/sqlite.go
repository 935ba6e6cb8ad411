package history

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	// The driver of the embedded database, in pure Go.
	_ "modernc.org/sqlite"
)

// openSQLite opens the database in a file, or in memory if the path is empty. It makes the tables of a new one.
func openSQLite(ctx context.Context, path string) (*store, error) {
	// Wait for locks up to 10 s; delete the figures with their run; lock when a transaction begins.
	const settings = "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"
	name := "file::memory:" + settings
	if path != "" {
		file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
		// Do not wait for the disk: the index is a cache, and can be made again.
		name = file.String() + settings + "&_pragma=synchronous(0)"
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // in memory, each connection would have a database of its own
	s := &store{db}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// indexVersion must be raised whenever the tables or the figures of a run change. An index of another version is made
// again.
const indexVersion = 3

// prepare refuses an index of another version, and makes the tables of a new one.
func (s *store) prepare(ctx context.Context) error {
	return s.transaction(ctx, func(tx *sql.Tx) error {
		var tables, version int
		if err := tx.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&tables); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "pragma user_version").Scan(&version); err != nil {
			return err
		}
		if tables == 0 {
			_, err := tx.ExecContext(ctx, fmt.Sprintf("%spragma user_version = %d", schema, indexVersion))
			return err
		}
		if version != indexVersion {
			return fmt.Errorf("it has version %d, and this program writes version %d", version, indexVersion)
		}
		return nil
	})
}

// CachePath gives the path of the index of a directory of runs. It is in the user's cache directory, with a name made
// from the directory's absolute path. So the directory itself may be read-only, and is copied without the index. The
// error says that the user has no cache directory.
func CachePath(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(whole); err == nil {
		whole = resolved
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "nearfar", "history", fmt.Sprintf("%x.sqlite", sha256.Sum256([]byte(whole)))), nil
}

// removeIndex removes the files of an index. The caller must hold its lock.
func removeIndex(path string) error {
	var failed error
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
