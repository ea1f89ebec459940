"""Refreshes stored advice: ratios of services with page samples, settings of hosts with a slower tier.

One run at a time, under an advisory lock. Advice is refreshed in place; what no longer holds is gone; what cannot be
judged now stays until it expires. A decision stands until what the advice says changes materially.
"""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from tierscope.core.clock import Clock, TimeLimit, was_within
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.base.figures import Window
from tierscope.domain.fleet.gain import ServiceGain
from tierscope.storage.base.subjects import hosts_by_id
from tierscope.storage.knobs import advice as stored
from tierscope.storage.knobs.advice import NewAdvice, Round, StoredAdvice, Subject
from tierscope.storage.ratio.inputs import outdated_inputs
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.knobs.advice_cards import RATIO_KEY, Made, is_material, make_knob_cards, make_ratio_card
from tierscope.usecases.knobs.reads import advise_host
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.reads import SPAN, RatioReads
from tierscope.usecases.simulate.placements import ReplayPlacements
from tierscope.usecases.tco.service_gain import ServiceCosts

EXPIRES = timedelta(days=14)
LOSS_TARGET = 0.05
"""Of the ratio cards; other targets are asked for at the service."""
KNOB_SPAN = timedelta(hours=6)
HOST_SEEN = timedelta(days=1)
AT_MOST = timedelta(seconds=10)
"""Of a run, one a minute: thousands of hosts are judged over the hour, and leave the processor to new samples."""
EVERY = timedelta(minutes=55)
"""Rounds over all subjects begin this far apart."""
LOOK_EVERY = timedelta(minutes=5)
"""Between looks for new subjects once a round has ended: they read the inventories of all hosts."""
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Refreshed:
    """What one run did: subjects judged, cards that hold now, cards that are gone, subjects that failed."""

    subjects: int = 0
    cards: int = 0
    gone: int = 0
    failures: int = 0


class RefreshAdvice:
    """The runs that together judge everything once an hour."""

    def __init__(self, database: Database, clock: Clock, settings: Settings) -> None:
        self._database = database
        self._clock = clock
        self._context = ReadContext(database, clock, settings)

    def run(self, *, at_most: timedelta = AT_MOST) -> Refreshed | None:
        """Judge the subjects whose turn it is, until all are done or time is up; None while another run is on.

        A round goes through services and hosts in the order of their numbers, so that new ones are not left out; the
        next one begins an hour later, or once a price is confirmed. Until then hosts that enrolled within the hour are
        judged again at each look, as many as time allows: their heat and counters have only begun to come. So are
        services whose hosts, inventories or replays have changed.
        """
        limit = TimeLimit(self._clock(), at_most)
        done = Refreshed()
        with self._database.write() as lock:
            if not stored.lock_refresh(lock):
                return None
            self._expire(done)
            services, hosts, now = self._turn()
            refresh_service = partial(self._refresh_service, ServiceCosts(self._context))
            for number, public_id in services:
                if limit.is_over(self._clock()):
                    break
                self._guarded(done, refresh_service, number, public_id)
                now = replace(now, after_service=max(now.after_service, number))
            for number in hosts:
                if limit.is_over(self._clock()):
                    break
                self._guarded(done, self._refresh_host, number)
                now = replace(now, after_host=max(now.after_host, number))
            stored.write_round(lock, now)
        return done

    def _turn(self) -> tuple[list[tuple[int, str]], list[int], Round]:
        """Services and hosts that the present round has not come to; all of them where a new one begins."""
        with self._database.read() as session:
            now = self._clock()
            present = stored.read_round(session) or Round(now)
            if present.ended_at is not None and was_within(LOOK_EVERY, present.ended_at, now):
                return [], [], present
            services = stored.services_to_judge(session, since=now - SPAN)
            priced = stored.is_priced_since(session, present.began_at)
            hosts = stored.hosts_to_judge(session, since=now - HOST_SEEN)
            young = set() if present.ended_at is None else stored.enrolled_since(session, hosts, now - EVERY)
            outdated = outdated_inputs(session, [number for number, _ in services])
        new_services = [one for one in services if one[0] > present.after_service or one[0] in outdated]
        new_hosts = [number for number in hosts if number > present.after_host or number in young]
        if (new_services or new_hosts) and not priced:
            return new_services, new_hosts, replace(present, ended_at=None)
        if was_within(EVERY, present.began_at, now) and not priced:
            return [], [], replace(present, ended_at=now)
        return services, hosts, Round(now)

    def _expire(self, done: Refreshed) -> None:
        with self._database.write() as transaction:
            done.gone += stored.end_expired(transaction, self._clock())

    def _guarded(self, done: Refreshed, refresh: object, *subject: object) -> None:
        assert callable(refresh)
        try:
            refresh(done, *subject)
            done.subjects += 1
        except Exception:
            # One subject with data that cannot be judged must not stop all others; its cards stay until they expire.
            log.exception("refreshing advice failed", subject=subject)
            done.failures += 1

    def _replay(self, number: int) -> None:
        """Replay the service's page samples for its advice, which can be given without."""
        try:
            ReplayPlacements(self._database, self._clock).refresh(number)
        except Exception:
            log.exception("replaying page samples failed", service=number)

    def _cost(self, costs: ServiceCosts, view: Ratio) -> ServiceGain | None:
        """What the answer saves, which is advice without it too."""
        try:
            return None if view.range is None else costs.cost(view)
        except Exception:
            log.exception("costing a service failed", service=view.service_id)
            return None

    def _refresh_service(self, costs: ServiceCosts, done: Refreshed, number: int, public_id: str) -> None:
        self._replay(number)
        view = RatioReads(self._context).read_ahead(public_id, loss_target=LOSS_TARGET)
        made = make_ratio_card(view, self._cost(costs, view))
        self.store_cards(done, Subject(number, is_host=False), [made] if made else [], {RATIO_KEY}, [public_id])

    def _refresh_host(self, done: Refreshed, number: int) -> None:
        now = self._clock()
        with self._database.read() as session:
            host = hosts_by_id(session, [number])[0]
            view = advise_host(session, host, Window(now - KNOB_SPAN, now), now)
            services = stored.services_of_host(session, number)
        unjudged = {unknown.rule for unknown in view.unknown}
        self.store_cards(done, Subject(number, is_host=True), make_knob_cards(view), unjudged, services)

    def store_cards(
        self,
        done: Refreshed,
        subject: Subject,
        cards: Sequence[Made],
        unjudged: Collection[str],
        services: Sequence[str],
    ) -> None:
        """Write the cards that hold and end those that do not; `unjudged` keys stay as they are."""
        now = self._clock()
        with self._database.write() as transaction:
            before = stored.read_stored(transaction, subject)
            for card in cards:
                stored.write_advice(transaction, subject, _renew(card, before.get(card.key), services, now), now=now)
            held = {card.key for card in cards}
            over = [key for key, old in before.items() if key not in held | set(unjudged) and old.status != "gone"]
            stored.end_advice(transaction, subject, over)
        done.cards += len(cards)
        done.gone += len(over)


def _renew(card: Made, before: StoredAdvice | None, services: Sequence[str], now: datetime) -> NewAdvice:
    """The card over what was stored under its key: a decision stays unless the card says something else."""
    decided = None if before is None or before.status == "gone" else before.body.get("decided_says")
    reopen = decided is not None and is_material(decided, card.says)
    return NewAdvice(
        public_id="a" + secrets.token_hex(8),
        kind=card.kind,
        key=card.key,
        title=card.title,
        stake_bytes=card.stake_bytes,
        body=card.body(services, None if reopen else decided),
        expires_at=now + EXPIRES,
        reopen=reopen,
    )
