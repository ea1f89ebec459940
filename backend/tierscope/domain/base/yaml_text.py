"""YAML that people send, bounded before anything is made of it.

A few characters become many objects: each scalar is a node with two marks, and an alias stands for all that it names.
The text is walked once, one event at a time, and nothing of it is kept.
"""

from itertools import islice

import yaml

MAX_DEPTH = 64
"""The time of parsers grows with the square of the depth."""
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C where PyYAML was built with it: ten times as fast."""


class YamlTooMuch(ValueError):
    """More than the bounds. `line` and `column` count from 1."""

    def __init__(self, message: str, *, line: int, column: int) -> None:
        super().__init__(message)
        self.line, self.column = line, column


def check_yaml(text: str, *, most: int) -> None:
    """Refuses YAML of more than `most` values, keys and brackets, nested too deeply, or with aliases.

    Raises:
        YamlTooMuch: it has more, or an alias.
        yaml.YAMLError: it is none.
    """
    depth = number = 0
    events = yaml.parse(text, Loader=_LOADER)
    while True:
        try:
            event = next(events)
        except StopIteration:
            return
        except yaml.YAMLError:
            # The parser in Python knows better where it is: it is asked as far as this one came.
            for _ in islice(yaml.parse(text, Loader=yaml.SafeLoader), number + 1):
                pass
            raise
        number += 1
        if isinstance(event, yaml.AliasEvent):
            raise _refusal("aliases are not taken", event)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _refusal(f"it is nested more than {MAX_DEPTH} deep", event)
        if number > most:
            raise _refusal(f"there are more than {most} values, keys and brackets", event)


def _refusal(message: str, event: yaml.Event) -> YamlTooMuch:
    mark = event.start_mark
    return YamlTooMuch(message, line=mark.line + 1 if mark else 1, column=mark.column + 1 if mark else 1)
