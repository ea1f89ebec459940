"""From answers to advice cards: title, sentence, what is at stake, and what a decision on the card is about."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tierscope.domain.base.figures import Figure
from tierscope.domain.fleet.gain import ServiceGain
from tierscope.storage.knobs.advice import Kind
from tierscope.usecases.knobs.answers import KnobAdvice
from tierscope.usecases.knobs.reads import HostKnobAdvice
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.sentence import entitle

RATIO_KEY = "ratio"
MATERIAL_FACTOR = 1.5
"""A number of a proposal that changed by more than this is another proposal."""


@dataclass(frozen=True, slots=True)
class Made:
    """A card as an answer makes it. `says`: names and numbers that a decision on it is about."""

    kind: Kind
    key: str
    title: str
    sentence: str
    stake_bytes: float | None
    answer: Mapping[str, Any]
    says: Mapping[str, str | float | None]
    gain: ServiceGain | None = None

    def body(self, services: Sequence[str], decided_says: object) -> dict[str, Any]:
        """What is stored. Cards of one content for hosts with the same services share a group."""
        parts = [self.kind, self.key, sorted(self.says.items()), sorted(services)]
        group = (
            hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:24] if self.kind == "knob" else None
        )
        body: dict[str, Any] = {"sentence": self.sentence, "answer": self.answer, "says": self.says}
        if self.gain is not None:
            body["gain"] = asdict(self.gain)
        if group is not None:
            body["group"] = group
        if decided_says is not None:
            body["decided_says"] = decided_says
        return body


def make_ratio_card(view: Ratio, gain: ServiceGain | None = None) -> Made | None:
    """The card of an answer with what it saves; None where nothing can be said, or only the first hours were seen."""
    if view.range is None or view.grade == "early":
        return None
    says: dict[str, str | float | None] = {
        "answer": view.answer,
        "ratio": view.range.safe,
        "plausible": view.range.plausible,
        "loss_target": view.loss_target,
        "loss_upper": None if view.chosen is None else view.chosen.loss_upper.value,
    }
    title, stake = entitle(view, view.range), _stake(view.leading)
    return Made("ratio", RATIO_KEY, title, view.sentence, stake, document(view), says, gain)


def make_knob_cards(view: HostKnobAdvice) -> list[Made]:
    """A card for each piece of advice on a host's settings; only what is to be tried now."""
    stake = _stake(view.leading)
    found: dict[str, Made] = {}
    for advice in view.advice:
        made = _make_knob_card(advice, view, stake)
        found.setdefault(made.key, made)
    return list(found.values())


def _make_knob_card(advice: KnobAdvice, view: HostKnobAdvice, stake: float | None) -> Made:
    answer = document(advice)
    answer |= {"verdict": view.verdict, "explanation": view.explanation, "leading": document(view.leading)}
    says = {change.path: _number(change.proposed) for change in advice.changes}
    return Made("knob", advice.rule, advice.title, advice.effect, stake, answer, says)


def is_material(decided: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a card says something else than when it was decided on.

    Another name or setting is; a number is when it changed by more than `MATERIAL_FACTOR`, or came or went.
    """
    return decided.keys() != now.keys() or any(_differ(decided[name], now[name]) for name in now)


def _differ(before: object, after: object) -> bool:
    if isinstance(before, int | float) and isinstance(after, int | float):
        small, large = sorted((abs(before), abs(after)))
        return before * after < 0 or large > MATERIAL_FACTOR * small
    return before != after


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _stake(leading: Any) -> float | None:  # noqa: ANN401 - the pair of figures, of a host or of a service
    """Hot bytes outside DRAM and cold bytes in DRAM, as far as they are known."""
    pair: tuple[Figure, Figure] = (leading.hot_outside_dram_bytes, leading.cold_in_dram_bytes)
    known = [figure.value for figure in pair if figure.value is not None]
    return sum(known) if known else None


def document(view: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass
    """A view as JSON can hold it."""
    out: dict[str, Any] = json.loads(json.dumps(asdict(view), default=_text))
    return out


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
