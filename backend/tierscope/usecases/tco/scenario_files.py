"""Scenarios as YAML files: read strictly, every fault with its path; written so that they read back the same."""

from collections.abc import Hashable
from typing import Any

import yaml
from pydantic import ValidationError

from tierscope.core.errors import UnreadableScenario
from tierscope.domain.base.yaml_text import YamlTooMuch, check_yaml
from tierscope.usecases.tco.scenario_documents import ScenarioDocument

MAX_CHARACTERS = 200_000
MAX_EVENTS = 16_384
"""Values, keys and brackets of a file."""
MOST_FAULTS = 20
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""By libyaml where PyYAML was built with it: ten times as fast."""


def read_scenario(text: str) -> ScenarioDocument:
    """A scenario from YAML.

    Raises:
        UnreadableScenario: not valid YAML, a duplicate key, an alias, or invalid values; each fault names its path.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableScenario([f"the file has more than {MAX_CHARACTERS} characters"])
    try:
        check_yaml(text, most=MAX_EVENTS)
        document = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a safe loader that refuses even more
    except YamlTooMuch as error:
        raise UnreadableScenario([f"line {error.line}, column {error.column}: {error}"]) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise UnreadableScenario([f"{place}{error.problem or error.context or 'not valid YAML'}"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableScenario([f"not valid YAML: {error}"]) from error
    return parse_scenario(document)


def parse_scenario(document: object) -> ScenarioDocument:
    """A scenario from plain values.

    Raises:
        UnreadableScenario: invalid values; each fault names its path.
    """
    try:
        return ScenarioDocument.model_validate(document)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise UnreadableScenario(
            [_fault(item["loc"], item["msg"], document) for item in found[:MOST_FAULTS]]
        ) from error


def write_scenario(scenario: ScenarioDocument) -> str:
    """A scenario as YAML, with what was left out left out."""
    values = scenario.model_dump(mode="json", exclude_defaults=True)
    document = {"format": scenario.format, **{name: values[name] for name in values if name != "format"}}
    text: str = yaml.dump(_tagged(document), Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=100)
    return text


def _tagged(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Tags of unions back in: which kind a loss is must be said even where it is the default."""
    if isinstance(value, dict):
        filled = {name: _tagged(item) for name, item in value.items()}
        for name in ("loss", "memory"):
            if isinstance(filled.get(name), dict):
                filled[name] = {"kind": "number", **filled[name]}
        return filled
    return [_tagged(item) for item in value] if isinstance(value, list) else value


def _fault(place: tuple[int | str, ...], message: str, document: object) -> str:
    """The path as the file's writer sees it: without the names that tell kinds of a union apart."""
    path, here = "", document
    for at, part in enumerate(place):
        last = at == len(place) - 1
        if isinstance(part, int):
            path += f"[{part}]"
            here = here[part] if isinstance(here, list) and part < len(here) else None
        elif isinstance(here, dict) and part not in here and here.get("kind") == part:
            continue
        elif last or (isinstance(here, dict) and part in here):
            path += f".{part}" if path else part
            here = here.get(part) if isinstance(here, dict) else None
    return f"{path or 'the file'}: {message.removeprefix('Value error, ')}"


class _StrictLoader(yaml.SafeLoader):
    """Safe values alone; names that stand twice and aliases (which can blow up a small file) are refused."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.constructor.ConstructorError(None, None, "aliases are not taken", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - as PyYAML calls it
        seen: set[object] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.constructor.ConstructorError(None, None, f"{name!r} is no name", key.start_mark)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {name!r}", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep=deep)
