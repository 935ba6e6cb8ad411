package export

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// SchemaVersion is written into every parquet file. It changes only where a column's meaning does.
const SchemaVersion = "1"

const (
	// rowsPerGroup bounds the memory that a row group takes while it is written, and while others read it.
	rowsPerGroup = 1 << 17
	// rowsPerWrite is how many rows are handed over at once.
	rowsPerWrite = 1 << 10
)

// parquetWriter writes rows of one kind.
type parquetWriter[T any] struct {
	out  *parquet.GenericWriter[T]
	rows []T
}

// newParquetWriter begins a file; the table names its kind of rows.
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

// close writes the rest and the file's end. Without it the file cannot be read.
func (p *parquetWriter[T]) close() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.out.Close()
}
