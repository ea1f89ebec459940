"""Which metrics of the catalogue rules name: they are recorded from then on."""

from tierscope.core.cache import StoredCache
from tierscope.core.database import ReadSession
from tierscope.domain.alerts.rules import check_rule
from tierscope.domain.alerts.vocabulary import ScopeKind, all_series
from tierscope.storage.alerts.rules import list_rules

_SECONDS = 15.0
_DATABASES = 64
_kept: StoredCache[str, dict[ScopeKind, list[str]]] = StoredCache(_DATABASES, lifetime_seconds=_SECONDS)


def named_metrics(session: ReadSession, kind: ScopeKind) -> list[str]:
    """Names to record per host, or per service; looked up again after some seconds."""
    database = session.driver.info.dbname
    found = _kept.get(database)
    if found is None:
        found = _look_up(session)
        _kept.put(database, found, generation=session.generation)
    return found["service" if kind == "service" else "host"]


def _look_up(session: ReadSession) -> dict[ScopeKind, list[str]]:
    names: dict[ScopeKind, set[str]] = {"host": set(), "service": set()}
    for row in list_rules(session):
        checked, _ = check_rule(row.rule)
        if checked is None or not row.rule.enabled:
            continue
        kind: ScopeKind = "service" if row.rule.scope.kind == "service" else "host"
        names[kind] |= {name for name in checked.inputs if name not in all_series()}
    return {kind: sorted(found) for kind, found in names.items()}
