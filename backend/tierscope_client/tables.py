"""Tables of answers, as Arrow streams that pyarrow, pandas and Polars read; none of them is needed until then."""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Origin = Literal["simulated", "measured", "mixed", "unknown"]


class MissingPackageError(ImportError):
    """A package that a table is to be read with is not installed; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an answer, all pages of it. Times are UTC, absent values null; columns name their units."""

    origin: Origin
    """Where the data comes from. `unknown` where the answer does not say."""
    streams: Sequence[bytes] = field(repr=False)
    """The table as Arrow IPC streams of the same columns, rows one after another."""

    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars data frame.

        Raises:
            MissingPackageError: Polars is not installed.
        """
        found = _module("polars", "polars")
        frames = [found.read_ipc_stream(io.BytesIO(stream)) for stream in self.streams]
        frame: pl.DataFrame = found.concat(frames)
        return frame

    def to_arrow(self) -> pa.Table:
        """The table as pyarrow has it. Its schema's metadata says units, window, notes and more (docs/howto/export.md).

        Raises:
            MissingPackageError: pyarrow is not installed.
        """
        found = _module("pyarrow", "arrow")
        parts = [found.ipc.open_stream(stream).read_all() for stream in self.streams]
        return found.concat_tables(parts)

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame, with pandas' types that know absent values.

        Raises:
            MissingPackageError: pandas or pyarrow is not installed.
        """
        found = _module("pandas", "pandas")
        _module("pyarrow", "pandas")
        frame: pd.DataFrame = self.to_arrow().to_pandas(types_mapper=found.ArrowDtype)
        return frame


def _module(name: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"{name} is not installed: pip install 'tierscope-client[{extra}]'", name=name
        ) from error
