"""Engines of other people read published history: the sums of each, and how long it took.

`python lab/bench/engines.py DIRECTORY` in an environment of its own: `pip install --require-hashes -r
lab/bench/engines.lock`. Engines whose package is not installed are left out, and Spark without Java (17).
"""

import argparse
import importlib.util
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

Sums = tuple[int, int, int]
"""Rows of whole hosts, pages promoted, hosts."""
_ASKED = "count(*), sum(promoted_pages), count(DISTINCT host_id)"


def ask_duckdb(folder: Path) -> Sums:
    """DuckDB, in this process."""
    import duckdb  # noqa: PLC0415 - one of several that may be missing

    query = f"SELECT {_ASKED} FROM read_parquet('{folder}/**/*.parquet', union_by_name = true) WHERE service_id IS NULL"
    rows, pages, hosts = duckdb.connect().execute(query).fetchall()[0]
    return int(rows), int(pages), int(hosts)


def ask_polars(folder: Path) -> Sums:
    import polars as pl  # noqa: PLC0415 - one of several that may be missing

    rows = pl.scan_parquet(f"{folder}/**/*.parquet", hive_partitioning=True).filter(pl.col("service_id").is_null())
    counted = rows.select(pl.len(), pl.col("promoted_pages").sum(), pl.col("host_id").n_unique()).collect().row(0)
    return int(counted[0]), int(counted[1]), int(counted[2])


def ask_clickhouse(folder: Path) -> Sums:
    """ClickHouse, as chDB runs it in this process."""
    import chdb  # noqa: PLC0415 - one of several that may be missing

    query = f"SELECT {_ASKED} FROM file('{folder}/*/*.parquet', Parquet) WHERE service_id IS NULL"
    rows, pages, hosts = str(chdb.query(query, "TSV")).split()
    return int(rows), int(pages), int(hosts)


def ask_spark(folder: Path) -> Sums:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - one of several that may be missing

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.read.parquet(str(folder)).createOrReplaceTempView("moves")
    rows, pages, hosts = spark.sql(f"SELECT {_ASKED} FROM moves WHERE service_id IS NULL").collect()[0]
    spark.stop()
    return int(rows), int(pages), int(hosts)


ENGINES: Mapping[str, Callable[[Path], Sums]] = {
    "duckdb": ask_duckdb,
    "polars": ask_polars,
    "chdb": ask_clickhouse,
    "pyspark": ask_spark,
}
"""By the package that each needs."""


def main() -> None:
    """Ask all that are here; ends with status 1 where two of them differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    folder = parser.parse_args().directory.resolve() / "tier_moves"
    found: dict[str, Sums] = {}
    for name, ask in ENGINES.items():
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed")
            continue
        if name == "pyspark" and shutil.which("java") is None:
            print(f"{name}: no Java")
            continue
        began = time.monotonic()
        found[name] = ask(folder)
        rows, pages, hosts = found[name]
        print(f"{name}: {rows} rows, {pages} pages promoted, {hosts} hosts, {time.monotonic() - began:.2f} s")
    if len(set(found.values())) > 1:
        raise SystemExit("the engines differ")


if __name__ == "__main__":
    main()
