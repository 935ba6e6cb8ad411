# Prints the rows of a parquet file as DuckDB reads them, as JSON: {"columns": [[name, type]], "metadata": {...}, "rows": [[...]]}.
import json
import sys

import duckdb

name = sys.argv[1]
db = duckdb.connect()
columns = [(row[0], row[1]) for row in db.execute("describe select * from read_parquet(?)", [name]).fetchall()]
# Times are printed as microseconds since 1970, exactly.
chosen = ", ".join(f'epoch_us("{c}")' if t.startswith("TIMESTAMP") else f'"{c}"' for c, t in columns)
rows = db.execute(f"select {chosen} from read_parquet(?)", [name]).fetchall()
metadata = {
    bytes(key).decode(): bytes(value).decode()
    for key, value in db.execute("select key, value from parquet_kv_metadata(?)", [name]).fetchall()
}
groups = db.execute("select max(row_group_num_rows) from parquet_metadata(?)", [name]).fetchone()[0]
json.dump({"columns": columns, "metadata": metadata, "largest_group": groups, "rows": rows}, sys.stdout)
