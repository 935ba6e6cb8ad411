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

	// The driver of the embedded database; it is all Go.
	_ "modernc.org/sqlite"
)

func sqliteDialect() dialect {
	return dialect{
		identity: "integer primary key",
		exists:   "select count(*) > 0 from sqlite_master where type = 'table' and name = $1",
	}
}

// openSQLite opens the database in a file, or in memory where the path is empty, and brings its schema up to date.
func openSQLite(ctx context.Context, path string) (*store, error) {
	// What others hold is waited for; deleting a run deletes its figures; a transaction locks when it begins.
	const settings = "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"
	name := "file::memory:" + settings
	if path != "" {
		// Nothing is lost with the cache: it need not be on the disk when a transaction ends.
		name = (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}).String() + settings + "&_pragma=synchronous(0)"
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection to a database in memory would have one of its own
	s := &store{db, sqliteDialect()}
	if err := s.checkVersion(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// indexVersion is raised whenever runs are summarised in another way, or the tables change: an index of another version is
// made anew.
const indexVersion = 1

// checkVersion refuses an index that another version has made, and writes the version into one that is new.
func (s *store) checkVersion(ctx context.Context) error {
	var tables, version int
	if err := s.db.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if err := s.db.QueryRowContext(ctx, "pragma user_version").Scan(&version); err != nil {
		return err
	}
	if tables > 0 && version != indexVersion {
		return fmt.Errorf("it is version %d, and this program writes %d", version, indexVersion)
	}
	_, err := s.db.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d", indexVersion))
	return err
}

// CachePath is where the index of a directory of runs is kept: in the user's cache, under a name made from the directory's
// whole path, so that runs can be read-only, on another machine's disk, or copied without it. An error where the user has no
// cache directory.
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

// removeIndex removes the files of an index. The caller holds its lock.
func removeIndex(path string) error {
	var failed error
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
