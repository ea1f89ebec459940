"""Each answer is declared once: what a use case returns is what the API documents."""

import dataclasses
import importlib
import inspect
import pkgutil
import tomllib
from collections.abc import Iterator
from types import ModuleType

from pydantic import BaseModel

import tierscope
from architecture.tree import ROOT

STILL_TWICE = ROOT / "tests" / "architecture" / "mirrors.toml"
"""Models that another type still says the same as. The list only gets shorter."""


def modules(*rooms: str) -> Iterator[ModuleType]:
    for room in rooms:
        package = importlib.import_module(f"tierscope.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "_generated" not in found.name and not found.name.endswith("measuring"):
                yield importlib.import_module(found.name)


def classes(*rooms: str) -> Iterator[type]:
    """Yield the classes that the modules of some layers declare."""
    for module in modules(*rooms):
        for _, found in inspect.getmembers(module, inspect.isclass):
            if found.__module__ == module.__name__:
                yield found


def test_no_model_of_the_api_says_again_what_another_type_says() -> None:
    declared = {
        frozenset(field.name for field in dataclasses.fields(found))
        for found in classes("domain", "storage", "usecases")
        if dataclasses.is_dataclass(found)
    }
    mirrors = sorted(
        f"{found.__module__.removeprefix(tierscope.__name__ + '.')}.{found.__name__}"
        for found in classes("api")
        if issubclass(found, BaseModel) and len(found.model_fields) > 1 and frozenset(found.model_fields) in declared
    )
    listed = tomllib.loads(STILL_TWICE.read_text(encoding="utf-8"))["models"]
    assert sorted(set(mirrors) - set(listed)) == [], "return the use case's own type, and describe its fields there"
    assert sorted(set(listed) - set(mirrors)) == [], "take these off the list"
