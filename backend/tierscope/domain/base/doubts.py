"""Files of hosts that had a problem, and the figures of an answer that may stand on them: none of these is good."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import cast

from tierscope.domain.base.figures import Answer, Figure, Window, doubted

OF_THE_PRODUCT = ("agent.", "data_quality.")
"""Figures that agent and service count of themselves stand on no file of a host."""
_SUBJECT = re.compile(r"[hs][0-9a-f]{16}")
_TOLD_LATE = timedelta(days=1)
"""A file may have had its problem for so long when an inventory first tells of it [A]."""
_NAMES_OF_SUBJECTS = ("host_id", "host", "service_id", "service", "id")


@dataclass(frozen=True, slots=True)
class HostDoubt:
    """A problem with files of one host, in words. It was told from `since` until `until`; None while it is."""

    host: str
    services: frozenset[str]
    cause: str
    since: datetime
    until: datetime | None

    def bears_on(self, window: Window | None) -> bool:
        """Whether it may have held in a window; without one, now."""
        if window is None:
            return self.until is None
        return self.since - _TOLD_LATE < window.end and (self.until is None or self.until > window.start)


class Doubts:
    """All of an installation."""

    def __init__(self, known: Sequence[HostDoubt]) -> None:
        self._all = tuple(known)
        self._of: dict[str, tuple[HostDoubt, ...]] = {}
        for doubt in known:
            for subject in (doubt.host, *doubt.services):
                self._of[subject] = (*self._of.get(subject, ()), doubt)

    def lower(self, answer: Answer, asked: Iterable[str] = ()) -> Answer:
        """The answer with no figure above `partial` that may stand on such a file, and a warning that names it.

        A part that names a host or a service stands on that one's files, all else on those of what was `asked` about:
        ids of hosts and services among any other words, or of all hosts where there is none.
        """
        if not self._all:
            return answer
        ids = [word for word in asked if is_subject(word)]
        hosts = hosts_among(ids)
        of_asked = dict.fromkeys(doubt for subject in hosts or ids for doubt in self._of.get(subject, ()))
        return self._lower(answer, _Scope(tuple(of_asked) if ids else self._all, of_host=bool(hosts)))

    def _lower(self, answer: Answer, scope: "_Scope") -> Answer:
        found: object = answer
        if isinstance(answer, Figure):
            found = _doubted(answer, scope.doubts)
        elif isinstance(answer, (tuple, list)):
            if answer and not isinstance(answer[0], (str, int, float)):
                parts = [self._lower(part, scope) for part in answer]
                changed = any(new is not old for new, old in zip(parts, answer, strict=True))
                found = type(answer)(parts) if changed else answer
        elif isinstance(answer, Mapping):
            found = {key: self._lower(part, scope) for key, part in answer.items()}
        elif is_dataclass(answer) and not isinstance(answer, type):
            own = self._within(answer, scope)
            before = {field.name: getattr(answer, field.name) for field in fields(answer) if field.init}
            after = {name: self._lower(part, own) for name, part in before.items()}
            new = {name: part for name, part in after.items() if part is not before[name]}
            found = replace(answer, **new) if new else answer
        return cast("Answer", found)

    def _within(self, part: object, scope: "_Scope") -> "_Scope":
        """The scope of the host or service that a part of an answer names; where it names none, the one around it."""
        for name in _NAMES_OF_SUBJECTS:
            value = getattr(part, name, None)
            if isinstance(value, str) and is_subject(value):
                of_host = value.startswith("h")
                # A service on a host stands on the files of that host alone.
                return scope if scope.of_host and not of_host else _Scope(self._of.get(value, ()), of_host=of_host)
        return scope


@dataclass(frozen=True, slots=True)
class _Scope:
    """The files that a part of an answer stands on, and whether they are those of one host."""

    doubts: tuple[HostDoubt, ...]
    of_host: bool


def is_subject(word: str) -> bool:
    """Whether a word has the form of a host's or a service's id."""
    return _SUBJECT.fullmatch(word) is not None


def hosts_among(words: Iterable[str]) -> tuple[str, ...]:
    """Those words that have the form of a host's id."""
    return tuple(word for word in words if word.startswith("h") and is_subject(word))


def _doubted(figure: Figure, doubts: Sequence[HostDoubt]) -> Figure:
    if figure.value is None or figure.definition.startswith(OF_THE_PRODUCT):
        return figure
    bearing = [doubt for doubt in doubts if doubt.bears_on(figure.window)]
    if not bearing:
        return figure
    cause = bearing[0].cause
    if any(cause in warning for warning in figure.warnings) and figure.grade != "good":
        return figure
    hosts = len({doubt.host for doubt in bearing})
    told = cause if hosts == 1 else f"Files of {hosts} hosts had a problem, of the first one: {cause}"
    return doubted(figure, told)
