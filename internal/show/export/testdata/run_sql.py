# Runs each SQL example of a page on the parquet files of a directory, and prints how many rows each gave.
import os
import re
import sys

import duckdb

with open(sys.argv[1], encoding="utf-8") as file:
    examples = re.findall(r"```sql\n(.*?)```", file.read(), re.S)
os.chdir(sys.argv[2])
for example in examples:
    print(len(duckdb.sql(example).fetchall()))
