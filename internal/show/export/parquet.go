package export

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"nearfar/internal/declare/rundir"
)

// SchemaVersion is written into every parquet file. It changes only if the meaning of a column changes.
const SchemaVersion = "1"

const (
	// rowsPerGroup bounds the memory for a row group, in the writer and in readers.
	rowsPerGroup = 1 << 17
	// rowsPerWrite is how many rows are passed to the library at once.
	rowsPerWrite = 1 << 10
)

// parquetWriter writes the rows of a table.
type parquetWriter[T any] struct {
	out  *parquet.GenericWriter[T]
	rows []T
}

// newParquetWriter begins a file. table is the name of the table in the file's metadata.
func newParquetWriter[T any](w io.Writer, table, version string) *parquetWriter[T] {
	return &parquetWriter[T]{
		out: parquet.NewGenericWriter[T](w,
			parquet.Compression(&parquet.Snappy),
			parquet.MaxRowsPerRowGroup(rowsPerGroup),
			parquet.CreatedBy("nearfar", version, ""),
			parquet.KeyValueMetadata("nearfar.version", version),
			parquet.KeyValueMetadata("nearfar.table", table),
			parquet.KeyValueMetadata("nearfar.schema", SchemaVersion),
		),
		rows: make([]T, 0, rowsPerWrite),
	}
}

// writeTable writes a parquet file with the rows of several runs. rows adds the rows of one run, given its name.
func writeTable[T any](w io.Writer, table, version string, runs []*rundir.Dir,
	rows func(run *rundir.Dir, name string, out *parquetWriter[T]) error) error {
	names, err := runNames(runs)
	if err != nil {
		return err
	}
	out := newParquetWriter[T](w, table, version)
	for i, run := range runs {
		if err := rows(run, names[i], out); err != nil {
			return err
		}
	}
	return out.close()
}

func (p *parquetWriter[T]) add(row T) error {
	p.rows = append(p.rows, row)
	if len(p.rows) < cap(p.rows) {
		return nil
	}
	return p.flush()
}

func (p *parquetWriter[T]) flush() error {
	_, err := p.out.Write(p.rows)
	p.rows = p.rows[:0]
	return err
}

// close writes the remaining rows and the end of the file. Without the end, the file cannot be read.
func (p *parquetWriter[T]) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.out.Close()
}
