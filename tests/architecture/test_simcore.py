"""The compiled core builds and loads."""

from __future__ import annotations

import importlib.metadata

import pytest


def test_the_compiled_core_loads_with_the_version_that_was_installed() -> None:
    core = pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    assert core.__version__ == importlib.metadata.version("tierscope-simcore")
