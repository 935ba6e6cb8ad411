//go:build unix

package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/history/postgrestest"
)

func openDatabase(t *testing.T, address string) *Index {
	t.Helper()
	x, err := OpenDatabase(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// push copies the runs of a directory into a database.
func push(dir, address, machine string) (copied, all int, err error) {
	ctx := context.Background()
	from, err := OpenDirectory(ctx, dir, "", false)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := OpenDatabase(ctx, address)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	return from.Push(ctx, to, machine)
}

// A PostgreSQL server with the runs of several machines gives the same answers as the index of a directory. All
// subtests use one server.
func TestPostgres(t *testing.T) {
	address := postgrestest.Start(t)
	dir := t.TempDir()
	writeDays(t, dir, 20, 12)
	if copied, all, err := push(dir, address, "this"); err != nil || copied != 20 || all != 20 {
		t.Fatalf("copied %d of %d, %v", copied, all, err)
	}
	database := openDatabase(t, address)
	got, err := database.Ask(context.Background(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	want := ask(t, dir, "", Query{})
	want.Source = got.Source
	for i := range want.Series {
		want.Series[i].Machine = "this"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the database and the directory give different answers (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(got.Source, "postgres://nearfar@/") {
		t.Errorf("the source is %q", got.Source)
	}

	t.Run("a connection needs the password, which may be in a file", func(t *testing.T) {
		t.Setenv("PGPASSWORD", "")
		t.Setenv("PGPASSFILE", filepath.Join(t.TempDir(), "none"))
		if _, err := OpenDatabase(context.Background(), address); err == nil ||
			strings.Contains(err.Error(), postgrestest.Password) {
			t.Errorf("got %v", err)
		}
		file := filepath.Join(t.TempDir(), "pgpass")
		if err := os.WriteFile(file, []byte("*:*:*:*:"+postgrestest.Password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PGPASSFILE", file)
		if x, err := OpenDatabase(context.Background(), address); err != nil {
			t.Error(err)
		} else if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("only new runs are copied", func(t *testing.T) {
		sampleRun{started: firstDay.AddDate(0, 0, 30), level: 12e-6}.write(t, dir)
		if copied, all, err := push(dir, address, "this"); err != nil || copied != 1 || all != 21 {
			t.Errorf("copied %d of %d, %v", copied, all, err)
		}
	})
	t.Run("runs of two machines may have the same name", func(t *testing.T) {
		if copied, _, err := push(dir, address, "other"); err != nil || copied != 21 {
			t.Errorf("copied %d, %v", copied, err)
		}
		d, err := database.Ask(context.Background(), Query{Machine: "other", Arm: "l2"})
		if err != nil || len(d.Series) != 1 || len(d.Series[0].Points) != 21 || d.Series[0].Machine != "other" {
			t.Errorf("%+v, %v", d.Series, err)
		}
		d, err = database.Ask(context.Background(), Query{Arm: "l2"})
		if err != nil || len(d.Series) != 2 {
			t.Errorf("%d series, %v", len(d.Series), err)
		}
	})
	t.Run("the machine that a run names is used", func(t *testing.T) {
		named := t.TempDir()
		sampleRun{started: firstDay, level: 8e-6, machine: "named"}.write(t, named)
		if _, _, err := push(named, address, "this"); err != nil {
			t.Fatal(err)
		}
		d, err := database.Ask(context.Background(), Query{Machine: "named", Arm: "l2"})
		if err != nil || len(d.Series) != 1 {
			t.Errorf("%+v, %v", d.Series, err)
		}
	})
	t.Run("many push at once", func(t *testing.T) {
		many := t.TempDir()
		writeDays(t, many, 5, 99)
		var wait sync.WaitGroup
		for i := range 4 {
			wait.Go(func() {
				if _, _, err := push(many, address, fmt.Sprintf("machine-%d", i/2)); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for i := range 2 {
			d, err := database.Ask(context.Background(), Query{Machine: fmt.Sprintf("machine-%d", i), Arm: "l2"})
			if err != nil || len(d.Series) != 1 || len(d.Series[0].Points) != 5 {
				t.Errorf("machine %d: %+v, %v", i, d.Series, err)
			}
		}
	})
	t.Run("hostile names", func(t *testing.T) {
		hostile := t.TempDir()
		name := "'; drop table nearfar_runs; --\"$1 \x1b[31m\x00<script>"
		sampleRun{started: firstDay, level: 8e-6, arm: name}.write(t, hostile)
		if _, _, err := push(hostile, address, "hostile'; --"); err != nil {
			t.Fatal(err)
		}
		d, err := database.Ask(context.Background(), Query{Arm: text(name)})
		if err != nil || len(d.Series) != 1 || d.Series[0].Machine != "hostile'; --" {
			t.Errorf("%+v, %v", d.Series, err)
		}
	})
	t.Run("the schema of a later version is refused", func(t *testing.T) {
		if _, err := database.store.db.Exec("insert into nearfar_migrations (version) values (99)"); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenDatabase(context.Background(), address); !errors.Is(err, ErrNewer) {
			t.Errorf("got %v", err)
		}
		if _, err := database.store.db.Exec("delete from nearfar_migrations where version = 99"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a failed migration changes nothing", func(t *testing.T) {
		empty := strings.Replace(address, "/postgres?", "/empty?", 1)
		if _, err := database.store.db.Exec("create database empty"); err != nil {
			t.Fatal(err)
		}
		s, _, err := openPostgres(context.Background(), empty)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.db.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := s.db.Exec(`drop table nearfar_conditions, nearfar_figures, nearfar_runs, nearfar_migrations;
create table nearfar_conditions (x int)`); err != nil {
			t.Fatal(err)
		}
		if err := s.migrate(context.Background()); err == nil {
			t.Error("the migration did not fail")
		}
		var left int
		err = s.db.QueryRow("select count(*) from pg_tables where tablename like 'nearfar%'").Scan(&left)
		if err != nil || left != 1 {
			t.Errorf("%d tables are left, %v; want 1, which made the migration fail", left, err)
		}
	})
}

// An address with a password is refused, and the error does not contain the password.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://me:geheim@host/db":           "holds a password",
		"postgres://me@host/db?password=geheim":  "holds a password",
		"postgres://me@host/db?PASSWORD=geheim":  "holds a password",
		"host=db password=geheim":                "no address",
		"mysql://me:geheim@host/db":              "no address",
		"postgres://me:geheim@[::1/db":           "no address",
		"postgres://me@host/db?sslpassword=gehe": "holds a password",
		"postgres://me@host:x/db":                "--db",
	} {
		_, err := OpenDatabase(context.Background(), address)
		var wrong *AddressError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "gehe") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"postgres://me@host/db", "postgresql://host/db?passfile=/x",
		"postgres:///db?host=/run"} {
		if err := checkAddress(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}
