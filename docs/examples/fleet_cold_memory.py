"""How much of a fleet's memory is cold, day by day, from what `tierscope export` wrote; computed by Dask.

    tierscope export fleet/ --url http://127.0.0.1:8480
    pip install "dask[dataframe]"
    python docs/examples/fleet_cold_memory.py fleet/

Each file is read by itself and reduced to one row, so that a fleet of any size fits into memory; with a `Client` of
`dask.distributed` the same lines run on a cluster. Rows of a file are equally far apart, so that their mean is the mean
of the day; how far depends on the day's age.
"""

import argparse
import json
import sys
from pathlib import Path

import dask.dataframe as dd
import pandas as pd

CLASSES = ["hot [bytes]", "warm [bytes]", "cold [bytes]", "unknown [bytes]"]
FOLDER = "series/services-heat"


def cold_memory(directory: Path) -> pd.DataFrame:
    """A row a day: services, bytes resident, and the share of them that is cold, at least and at most.

    Memory whose heat is unknown may be cold or not, which is what the two shares differ by. Services without a figure
    on a day are in none of its sums; `services` says how many are.

    Raises:
        FileNotFoundError: the folder has no heat of services.
    """
    if not (directory / FOLDER).is_dir():
        raise FileNotFoundError(f"{directory / FOLDER} is not there: name the directory that `tierscope export` wrote")
    rows = dd.read_parquet(directory / FOLDER, columns=[*CLASSES, "service", "day"])
    rows = rows.astype({"service": "string", "day": "string"}).dropna(subset=CLASSES)
    of_services = rows.groupby(["day", "service"])[CLASSES].mean().reset_index()
    days = of_services.groupby("day").agg({**dict.fromkeys(CLASSES, "sum"), "service": "count"}).compute().sort_index()
    resident = days[CLASSES].sum(axis=1)
    cold, unknown = days["cold [bytes]"], days["unknown [bytes]"]
    return pd.DataFrame(
        {
            "services": days["service"],
            "resident_bytes": resident,
            "cold_ratio_at_least": cold / resident,
            "cold_ratio_at_most": (cold + unknown) / resident,
        }
    )


def origins(directory: Path) -> list[str]:
    """Where the figures come from: `measured`, `simulated`, `mixed` or `unknown`."""
    files = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))["files"]
    return sorted({told["origin"] for path, told in files.items() if path.startswith(FOLDER)})


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description="How much of a fleet's memory is cold, day by day.")
    options.add_argument("directory", type=Path, help="what `tierscope export` wrote")
    directory: Path = options.parse_args().directory
    try:
        table, said = cold_memory(directory), origins(directory)
    except FileNotFoundError as missing:
        sys.exit(str(missing))
    print(f"Origin of the figures: {', '.join(said)}")
    print(table.to_string())


if __name__ == "__main__":
    main()
