"""Names that deceive: at enrolment, in labels, and in batches, where what came with them is kept."""

from attack.assault import Assault
from factories import batches
from factories.services import batch_headers

_CONTROL = ("\x00", "\x07", "\x1b[2J", "\r\nX: y", "\x7f", "\x85", "\x9b31m")
_DIRECTION = ("\u202e", "\u2066", "\u200f", "\u061c", "\u2028", "\u2029")
_PARTS = ("..", "../", "../../etc/cron.d/x", "a/../b", "a\\..\\b")
_LONG = ("x" * 256, "x" * 100_000, "")
_REFUSED = (400, 413, 422)


def attack(assault: Assault) -> None:
    """What stands alone is refused; what comes with measurements is written out."""
    deceiving = [*_CONTROL, *_DIRECTION, *_PARTS]
    token = assault.arena.access.create_join_token(uses=None, actor="attack").secret
    for name in assault.some([*deceiving, *_LONG], 8):
        _enrol(assault, token, name if name in _LONG else f"node{name}" if name not in _PARTS else name)
    for text in assault.some(deceiving, 6):
        _labels(assault, token, text)
        _batch(assault, text)
    _shown(assault)


def _enrol(assault: Assault, token: str, name: str) -> None:
    body = {"join_token": token, "hostname": name, "labels": {}, "origin": "live"}
    assault.ask("POST", "/v1/agents/enrol", json=body, expect=_REFUSED, what=f"a host named {name[:30]!r}")


def _labels(assault: Assault, token: str, text: str) -> None:
    admin, host_id = assault.arena.admin, assault.arena.made.ids["host_id"][0]
    for labels in ({f"k/{text}": "v"}, {"k": f"v/{text}"}, {text: text}):
        said = f"labels {labels!r}"
        body = {"join_token": token, "hostname": "node", "labels": labels, "origin": "live"}
        assault.ask("POST", "/v1/agents/enrol", json=body, expect=_REFUSED, what=f"enrolment with {said}")
        path = f"/v1/hosts/{host_id}/labels"
        assault.ask("PUT", path, headers=admin, json={"labels": labels}, expect=_REFUSED, what=said)
        made = {"labels": labels, "note": "x"}
        path = "/v1/agents/join-tokens"
        assault.ask("POST", path, headers=admin, json=made, expect=_REFUSED, what=f"a join token with {said}")


def _batch(assault: Assault, text: str) -> None:
    host = assault.arena.host
    batch = batches.make_batch(host_id=host.id, stream_id=assault.dice.randbytes(16))
    batches.add_counters(
        batch, [[1, 2, 3]], keys=(f"host|vmstat|a{text}", "cgroup:/a/" + text + "|memory.stat|anon", "b")
    )
    batches.add_inventory(batch, hostname=f"n{text}", services=(f"s{text}", text))
    batch.inventory.labels.add(key=f"k{text}", value=f"v{text}")
    headers = batch_headers(host.credential)
    said = f"a batch with {text!r}"
    assault.ask(
        "POST", "/v1/ingest/batches", headers=headers, content=batches.compress(batch), expect=(200, 422), what=said
    )


def _shown(assault: Assault) -> None:
    """Nothing of it comes back as it was."""
    host = assault.arena.host.id
    for path in ("/v1/hosts", "/v1/services", f"/v1/hosts/{host}", f"/v1/hosts/{host}/labels", "/metrics/fleet"):
        answer = assault.ask("GET", path, headers=assault.arena.admin, expect=(200,))
        text = "" if answer is None else answer.text
        raw = [mark for mark in (*_CONTROL[1:], *_DIRECTION) if mark in text and mark != "\r\nX: y"]
        escaped = [mark for mark in ("\\u0007", "\\u001b", "\\u202e", "\\u2066") if mark in text.replace("\\\\", "")]
        if raw or escaped:
            assault.found(f"{path} answers {raw + escaped} as they came")
