"""Of counters that did not come of a host: absent because of whom, and what to do about it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tierscope.domain.counters.senders import SENDERS, Offer, Sender


@dataclass(frozen=True, slots=True)
class Sent:
    """A sender of a host, the offers that came of it, and those that it says it could not make. `version` may be ''.

    `filtered`: something on the way drops series by their names.
    """

    sender: str
    offers: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    version: str = ""
    filtered: bool = False


@dataclass(frozen=True, slots=True)
class Unsent:
    """Why a counter did not come though the kernel may count it, and what to do about it.

    `setting`: what makes its sender print it; `series`: what to let through on the way.
    """

    reason: str
    setting: str | None = None
    series: str | None = None


def find_offers(sender: str, keys: Iterable[str], parts: Mapping[str, bool], *, version: str = "") -> Sent:
    """What came of a sender: `keys` of its counters, `parts` whether each part of it found what it looks for."""
    known = set(keys)
    if SENDERS[sender].of_containers:
        return Sent(sender, version=version, filtered=True)
    offers = SENDERS[sender].offers
    came = {
        offer.name
        for offer in offers
        if (offer.witnesses and known.issuperset(offer.witnesses))
        or (not offer.witnesses and any(offer.covers(key) for key in known))
    }
    refused = {offer.name for offer in offers if parts.get(offer.part) is False}
    filtered = sender in _TELL_OF_PARTS and _is_filtered(offers, known, parts, came | refused)
    return Sent(sender, frozenset(came), frozenset(refused - came), version, filtered=filtered)


_TELL_OF_PARTS = frozenset({"node_exporter", "alloy"})
"""Senders that say of each of their parts in every scrape whether it found what it looks for."""


def _is_filtered(
    offers: Sequence[Offer], known: Collection[str], parts: Mapping[str, bool], answered: Collection[str]
) -> bool:
    """Whether series of such a sender are dropped on the way: they came without what it prints beside them."""
    missed = [offer for offer in offers if offer.by_default and offer.name not in answered]
    return not parts or any(parts.get(offer.part) or any(map(offer.covers, known)) for offer in missed)


def write_sender(sent: Sent) -> dict[str, Any]:
    """A sender as an inventory has it."""
    return {
        "name": sent.sender,
        "version": sent.version,
        "offers": sorted(sent.offers),
        "refused": sorted(sent.refused),
        "filtered": sent.filtered,
    }


def find_doubt(sent: Sequence[Sent]) -> str:
    """Why counters of these senders are not exact, '' where they are."""
    return next((SENDERS[one.sender].doubt for one in sent if SENDERS[one.sender].doubt), "")


def read_senders(body: Mapping[str, Any]) -> tuple[Sent, ...]:
    """The senders that an inventory names: none where an agent reports the host."""
    return tuple(
        Sent(
            str(one["name"]),
            frozenset(one.get("offers") or ()),
            frozenset(one.get("refused") or ()),
            str(one.get("version") or ""),
            filtered=bool(one.get("filtered")),
        )
        for one in body.get("senders") or ()
        if one.get("name") in SENDERS
    )


def why_unsent(sent: Sequence[Sent], keys: Sequence[str]) -> Unsent | None:
    """Why none of some counters came; None where the kernel is known to lack them, or an agent would have sent them."""
    if not sent:
        return None
    of_containers = keys[0].startswith("service")
    telling = [one for one in sent if SENDERS[one.sender].of_containers == of_containers] or sent
    offered = [
        (SENDERS[one.sender], one, offer)
        for one in telling
        for offer in [next((offer for offer in SENDERS[one.sender].offers if offer.covers(keys[0])), None)]
        if offer is not None
    ]
    if any(offer.name in one.offers | one.refused for _, one, offer in offered):
        return None
    titles = _titles(telling)
    says = f"{_join(titles)} {_send(titles)} no such series"
    dropped = [one for one in offered if one[2].by_default and one[1].filtered]
    if dropped:
        series = dropped[0][2].series
        return Unsent(
            f"{says}: it prints them, and a filter on the way drops them: let {series} through.", None, series
        )
    offered = [one for one in offered if one[2].setting]
    if offered:
        sender, one, offer = offered[0]
        start = f"{says}: {sender.verb} {offer.setting}{_of(sender, titles)}"
        if not one.filtered:
            return Unsent(f"{start}.", offer.setting)
        through = f"and let {offer.series} through the filter on the way"
        return Unsent(f"{start}, {through}.", offer.setting, offer.series)
    return Unsent(f"{says}. {SENDERS[telling[0].sender].instead}")


NEEDED = {
    "promotions": ("host|vmstat|pgpromote_success",),
    "demotions": ("host|vmstat|pgdemote_kswapd", "host|sysstat|pgdem"),
    "hint faults": ("host|vmstat|numa_hint_faults",),
    "memory by node": ("node:0|meminfo|MemTotal",),
}
"""What the ledger and its verdicts rest on, by counters of which one is enough."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What of `NEEDED` did not come, from whom, and the settings that bring it; `fix` says so."""

    titles: tuple[str, ...]
    lacking: tuple[str, ...]
    fix: str

    @property
    def cause(self) -> str:
        """What nobody sends, in a sentence or two."""
        what = f"{_join(self.titles)} {_send(self.titles)} nothing of: {', '.join(self.lacking)}."
        return f"{what} Whether the kernel counts them is not known."


def find_lack(sent: Sequence[Sent], came: Iterable[str]) -> Lack | None:
    """What a host's senders leave out of what the ledger needs; None where nothing, or nothing that they could send."""
    known = set(came)
    unsent: dict[str, Unsent] = {}
    for name, keys in NEEDED.items():
        found = [] if known.intersection(keys) else [why_unsent(sent, [key]) for key in keys]
        missed = [one for one in found if one is not None]
        if missed and len(missed) == len(found):
            unsent[name] = next((one for one in missed if one.setting), missed[0])
    if not unsent:
        return None
    settings = dict.fromkeys(found.setting for found in unsent.values() if found.setting)
    sender = SENDERS[sent[0].sender]
    # Settings are of the sender that offers most: one program to restart brings all that it can.
    for one in sent:
        if any(offer.setting in settings for offer in SENDERS[one.sender].offers):
            sender = SENDERS[one.sender]
            break
    titles = _titles(sent)
    start = f"{sender.verb[:1].upper()}{sender.verb[1:]} {sender.between.join(settings)}{_of(sender, titles)}."
    fixes = [start] if settings else []
    if through := dict.fromkeys(found.series for found in unsent.values() if found.series):
        fixes.append(f"A filter on the way drops names: let {_join(list(through))} through it.")
    if any(found.setting is None for found in unsent.values()):
        fixes.append(sender.instead)
    return Lack(titles, tuple(unsent), " ".join(fixes))


def _titles(sent: Sequence[Sent]) -> tuple[str, ...]:
    """What senders are called; those that tell of containers alone are not to blame for what is missing of the host."""
    telling = [SENDERS[one.sender] for one in sent]
    return tuple(dict.fromkeys(one.title for one in [one for one in telling if not one.of_containers] or telling))


def _join(titles: Sequence[str]) -> str:
    return " and ".join(titles)


def _send(titles: Sequence[str]) -> str:
    return "send" if len(titles) > 1 else "sends"


def _of(sender: Sender, titles: Sequence[str]) -> str:
    """Whose setting it is, where that is not clear."""
    return f" ({sender.title})" if len(titles) > 1 else ""
