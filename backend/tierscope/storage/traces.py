"""Page traces from files. Reading them needs the compiled core."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tierscope_simcore import PageTrace


def read_page_trace(path: Path, *, merged: int = 1) -> "PageTrace":
    """Read a page trace (Parquet); `merged` intervals of it in a row become one.

    Raises:
        ValueError: The file is no page trace; the message names the cause.
        RuntimeError: The compiled core is not built.
    """
    try:
        import tierscope_simcore  # noqa: PLC0415 - the rest of the product runs without it
    except ModuleNotFoundError as error:
        raise RuntimeError(
            "page traces are read by the compiled core, which is not built: run `make simcore`"
        ) from error
    return tierscope_simcore.PageTrace(path, merged)
