"""How commands print a figure of an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tierscope_client import models


def figure_text(figure: models.Figure, show: Callable[[float], str]) -> str:
    """The value of a figure with its interval, each as `show` has it; or why there is none."""
    if figure["value"] is None:
        return f"not known ({figure['reason']})"
    around = figure["interval"]
    bounds = "" if around is None else f" [{show(around['lo'])}, {show(around['hi'])}]"
    return f"{show(figure['value'])}{bounds}"
