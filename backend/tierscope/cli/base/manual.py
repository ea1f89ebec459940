"""Manual pages, made of what `--help` prints: one for the command and one for each of its commands."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from tierscope.cli.base.exits import MEANINGS


def manual_pages(root: Any, *, version: str) -> Mapping[str, str]:  # noqa: ANN401 - typer keeps click's types to itself
    """The pages of a command and of all below it, as roff, by the name of their file."""
    return {f"{name.replace(' ', '-')}.1": page for name, page in _pages(root, str(root.name), version, None)}


def _pages(
    command: Any,  # noqa: ANN401 - as above
    name: str,
    version: str,
    outer: typer.Context | None,
) -> Iterator[tuple[str, str]]:
    context = typer.Context(command, info_name=name, parent=outer, **command.context_settings)
    below = command.commands if isinstance(command, TyperGroup) else {}
    yield name, "\n".join(_lines(command, context, name, version)) + "\n"
    for word, inner in below.items():
        yield from _pages(inner, f"{name} {word}", version, context)


def _lines(command: Any, context: typer.Context, name: str, version: str) -> Iterator[str]:  # noqa: ANN401 - as above
    page = name.replace(" ", "-")
    text = command.help or ""
    yield f'.TH "{_plain(page.upper())}" "1" "" "Tierscope {_plain(version)}" "Tierscope"'
    yield from (".SH NAME", f"{_plain(page)} \\- {_plain(command.get_short_help_str(limit=200))}")
    yield from (".SH SYNOPSIS", f".B {_plain(name)}", _plain(" ".join(command.collect_usage_pieces(context))))
    yield ".SH DESCRIPTION"
    for paragraph in re.split(r"\n\s*\n", text):
        yield from (".PP", _plain(" ".join(paragraph.split())))
    records = [found for one in command.get_params(context) if (found := one.get_help_record(context)) is not None]
    if records:
        yield ".SH OPTIONS"
        for shown, told in records:
            yield from (".TP", f".B {_plain(shown)}", _plain(" ".join(told.split())) or "\\&")
    if isinstance(command, TyperGroup):
        yield ".SH COMMANDS"
        panel = None
        for word in command.list_commands(context):
            inner = command.commands[word]
            if inner.hidden:
                continue
            if getattr(inner, "rich_help_panel", None) != panel:
                panel = getattr(inner, "rich_help_panel", None)
                yield f".SS {_plain(str(panel))}"
            yield from (".TP", f".BR {_plain(f'{page}-{word}')} (1)", _plain(inner.get_short_help_str(limit=200)))
    yield ".SH EXIT STATUS"
    for status, told in MEANINGS.items():
        yield from (".TP", f".B {status}", told)
    yield from (".SH ENVIRONMENT", "Settings are variables TIERSCOPE_*, over the file that TIERSCOPE_CONFIG names.")


def _plain(text: str) -> str:
    """Text that roff prints as it is."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
