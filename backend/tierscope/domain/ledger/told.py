"""How rules are asked: each names what it needs by the types of its arguments, and without that it is undecided.

A word that an undecided rule could have overruled is told as possible, and not at all where that rule could have told
the opposite: what nobody measured passes no check.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_type_hints

from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.measured import Evidence, Group
from tierscope.domain.ledger.words import VERDICT_SEVERITY, Context, Verdict, Word


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged: the evidence of a window, what else is known of the host, and the window."""

    seen: Evidence
    context: Context
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class Undecided:
    """Whether a rule fits is not known. `says`: what of, to follow "not known"; `runner_up`: the word it leans to."""

    says: tuple[str, ...]
    runner_up: Word | None = None


Answer = Verdict | Undecided | None
"""None: the rule does not fit."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, the words that it can tell, and the groups of numbers without which it tells none.

    `takes`: the types of its arguments, the case or groups.
    """

    judge: Callable[..., Answer]
    words: frozenset[Word]
    takes: tuple[type, ...]

    @property
    def needs(self) -> tuple[type[Group], ...]:
        """The groups among its arguments."""
        return tuple(kind for kind in self.takes if issubclass(kind, Group))

    def __call__(self, case: Case) -> Answer:
        """What it says of a case; undecided where a group that it needs was not measured."""
        missing = tuple(kind.says for kind in self.needs if case.seen.group(kind) is None)
        if missing:
            return Undecided(missing)
        return self.judge(*(case.seen.group(kind) if issubclass(kind, Group) else case for kind in self.takes))


def rule(*words: Word) -> Callable[[Callable[..., Answer]], Rule]:
    """Make a rule of a function of the groups that it needs, and of the case if it likes: read from its signature."""

    def make(judge: Callable[..., Answer]) -> Rule:
        return Rule(
            judge, frozenset(words), tuple(kind for name, kind in get_type_hints(judge).items() if name != "return")
        )

    return make


_BESIDE: Mapping[Word, frozenset[Word]] = {"fits": frozenset({"limit_reclaim"})}
"""Words of which a word says nothing: reclaim for a limit changes nothing where nothing lies on slower memory."""


def is_fault(word: Word) -> bool:
    """Whether a word calls for someone."""
    return word in VERDICT_SEVERITY


def first_told(rules: Sequence[Rule], case: Case, before: Sequence[tuple[Rule, Undecided]] = ()) -> Verdict:
    """The verdict of the first rule that fits, as far as those that were asked before and are undecided leave it."""
    undecided = list(before)
    for each in rules:
        found = each(case)
        if isinstance(found, Undecided):
            undecided.append((each, found))
        elif found is not None:
            return stands(found, undecided)
    return _not_known(None, undecided)


def stands(found: Verdict, undecided: Sequence[tuple[Rule, Undecided]]) -> Verdict:
    """A verdict with undecided rules before it: as it is, possible, or not known."""
    if not undecided or found.word == "not_known":
        return found
    opposite = [word for each, _ in undecided for word in each.words if is_fault(word) != is_fault(found.word)]
    if not _BESIDE.get(found.word, frozenset()).issuperset(opposite):
        return _not_known(found, undecided)
    return replace(found, confidence="possible")


def _not_known(found: Verdict | None, undecided: Sequence[tuple[Rule, Undecided]]) -> Verdict:
    """Without the numbers that are missing; the runner-up is what they would confirm, which is never a good word."""
    says = tuple(dict.fromkeys(part for _, each in undecided for part in each.says))
    text = f"Not measured here: {join_words(says)}."
    leanings = [each.runner_up for _, each in undecided if each.runner_up is not None]
    words = [*leanings, *([found.word] if found is not None else [])]
    runner_up = next((word for word in words if is_fault(word)), None)
    evidence = () if found is None else found.evidence
    return Verdict("not_known", text, "certain", evidence, () if found is None else found.against, runner_up)


def join_words(parts: Sequence[str]) -> str:
    """A list in words."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
