#!/usr/bin/env bash
# pyarrow 26.0.1: read_csv makes doubles of kernel addresses; polars 2.1.0 and duckdb 2.0.1 read the same file exactly.
# Guess: a column of whole numbers stays one, or is refused; so a join by page of what two engines read finds all rows.
# Needs python3 with venv and PyPI.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/env"
"$work/env/bin/pip" install -q --disable-pip-version-check pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1
cat >"$work/samples.py" <<'EOP'
import sys

import duckdb
import polars
import pyarrow.csv

# Sampled loads from each cache line of a page in the kernel's direct map, as perf script -F addr gives them.
page = 0xFFFF_8881_2345_6000
addresses = [page + line for line in range(0, 4096, 64)]
path = sys.argv[1]
with open(path, "w") as file:
    file.write("address,loads\n" + "".join(f"{address},1\n" for address in addresses))

arrow = pyarrow.csv.read_csv(path)["address"]
other = polars.read_csv(path)["address"]
third = duckdb.sql(f"SELECT address FROM '{path}'")
rounded = [int(address) for address in arrow.to_pylist()]
print(f"pyarrow {pyarrow.__version__}: {arrow.type}, {len(set(rounded))} addresses of {len(addresses)}, ", end="")
print(f"{sum(address >> 12 != page >> 12 for address in rounded)} of them in the next page")
print(f"polars {polars.__version__}: {other.dtype}, exact: {other.to_list() == addresses}")
print(f"duckdb {duckdb.__version__}: {third.types[0]}, exact: {[row[0] for row in third.fetchall()] == addresses}")
assert str(arrow.type) == "double"
assert len(set(rounded)) == 3
assert any(address >> 12 != page >> 12 for address in rounded)
assert other.to_list() == addresses
EOP
"$work/env/bin/python" "$work/samples.py" "$work/samples.csv" || { echo "the behaviour has changed" >&2; exit 1; }
