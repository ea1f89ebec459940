"""The compiled core builds and loads."""

import pytest

import tierscope


def test_the_compiled_core_is_of_the_version_of_this_tree() -> None:
    core = pytest.importorskip("tierscope_simcore", reason="the compiled core is not built: run `make simcore`")
    assert core.__version__ == tierscope.__version__
