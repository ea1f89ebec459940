"""The inventory and the agent's report on itself."""

from collections.abc import Collection, Iterable
from typing import Any

from google.protobuf.message import Message

from tierscope.core.errors import Unreadable
from tierscope.domain.base.copying import copied
from tierscope.domain.base.names import escaped_name, escaped_text
from tierscope.domain.ingest.batch import Finding, Inventory, InventoryService, Pod, PodList, SelfReport
from tierscope.wire import checks
from tierscope.wire._generated import batch_pb2, inventory_pb2

MAX_TEXT_BYTES = 8192
MAX_ITEMS = 4096
MAX_REAL = 1e300
MAX_LABELS = 128  # of the agent's file and of its cluster
KUBERNETES = "kubernetes"
MAX_INTERVAL_SECONDS = 86_400
MAX_COLLECTORS = 256
MAX_PODS = 512
MAX_POD_LABELS = 64
OWNER_SOURCES = ("", "api", "name")
APART = ("pods", "kubernetes_labels_partial")
"""Fields that are stored beside the body."""
_SEVERITIES = ("info", "warning", "critical")
_CONFIDENCES = ("certain", "likely", "possible")


def decode_inventory(message: inventory_pb2.Inventory, *, max_services: int) -> tuple[Inventory, int]:
    """Returns the inventory with at most `max_services` services, and how many were left out.

    Names and labels that could deceive a reader are escaped rather than refused: the batch carries measurements too.
    """
    services = []
    for service in message.services:
        if not service.namespace or not service.name or "/" in service.namespace:
            raise Unreadable("inventory.services: a service needs a name, and a namespace without a slash")
        services.append(
            copied(
                InventoryService,
                service,
                key=checks.plain_service(service.namespace, service.name),
                processes=checks.scalar(service.processes, "inventory.services.processes", 0, (1 << 31) - 1),
            )
        )
    if len(message.labels) > MAX_LABELS:
        raise Unreadable(f"inventory.labels: {len(message.labels)} labels, at most {MAX_LABELS} are accepted")
    left_out = max(0, len(services) - max_services)
    body = message_values(message, "inventory", leave_out=APART)
    inventory = Inventory(
        body=body | {"hostname": escaped_name(body["hostname"])},
        services=tuple(services[:max_services]),
        findings=tuple(_finding(finding) for finding in message.findings),
        labels=_labels(label for label in message.labels if label.source != KUBERNETES),
        kubernetes_labels=_labels(label for label in message.labels if label.source == KUBERNETES),
        labels_complete=message.labels_complete,
        interval_seconds=checks.scalar(message.interval_seconds, "inventory.interval_seconds", 0, MAX_INTERVAL_SECONDS),
        kubernetes_labels_partial=message.kubernetes_labels_partial,
        pods=_pods(message.pods) if message.HasField("pods") else None,
    )
    return inventory, left_out


def decode_self(message: batch_pb2.SelfReport) -> SelfReport:
    """Checks the agent's report."""
    if len(message.collectors) > MAX_COLLECTORS:
        raise Unreadable(f"self.collectors: {len(message.collectors)}, at most {MAX_COLLECTORS} are accepted")
    numbers = {
        name: checks.scalar(getattr(message, name), f"self.{name}")
        for name in (
            "window_ns",
            "cpu_ns",
            "rss_bytes",
            "spool_bytes",
            "spool_batches",
            "dropped_batches",
            "sent_bytes",
            "counters_dropped",
            "services_dropped",
            "guard_paused_intervals",
            "samples_taken",
            "samples_lost",
            "throttles",
        )
    }
    return SelfReport(
        end_wall_ns=checks.wall_time(message.end_wall_ns, "self.end_wall_ns"),
        collectors=tuple(message_values(cost, "self.collectors") for cost in message.collectors),
        budget_state=checks.check_text(message.budget_state, "self.budget_state"),
        heat_rung=checks.check_text(message.heat_rung, "self.heat_rung"),
        budget_reason=checks.check_text(message.budget_reason, "self.budget_reason"),
        **numbers,
    )


def message_values(message: Message, place: str, *, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Returns a message as plain values under the contract's field names; an absent optional field is None.

    Characters of texts that do not show, or change how the rest shows, are escaped.
    """
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.name in leave_out:
            continue
        value = getattr(message, field.name)
        where = f"{place}.{field.name}"
        if field.is_repeated:
            if len(value) > MAX_ITEMS:
                raise Unreadable(f"{where} has {len(value)} entries, at most {MAX_ITEMS} are accepted")
            found[field.name] = [_plain(item, where) for item in value]
        elif field.has_presence and not message.HasField(field.name):
            found[field.name] = None
        else:
            found[field.name] = _plain(value, where)
    return found


def _plain(value: Any, where: str) -> Any:  # noqa: ANN401 - protobuf values have no common type
    if isinstance(value, Message):
        return message_values(value, where)
    if isinstance(value, float):
        return checks.real(value, where, -MAX_REAL, MAX_REAL)
    if isinstance(value, str):
        return escaped_text(checks.check_text(value, where, max_bytes=MAX_TEXT_BYTES))
    return value


def _labels(labels: Iterable[inventory_pb2.Label]) -> dict[str, str]:
    return {escaped_name(label.key): escaped_name(label.value) for label in labels}


def _pods(message: inventory_pb2.PodList) -> PodList:
    if len(message.pods) > MAX_PODS:
        raise Unreadable(f"inventory.pods: {len(message.pods)} pods, at most {MAX_PODS} are accepted")
    unavailable = escaped_text(checks.check_text(message.unavailable, "inventory.pods.unavailable"))
    # The last one of a uid counts.
    found = {pod.uid: pod for pod in map(_pod, message.pods)}
    return PodList(
        pods=tuple(found.values()),
        left_out=checks.scalar(message.left_out, "inventory.pods.left_out", 0, (1 << 31) - 1),
        unavailable=unavailable or None,
    )


def _pod(message: inventory_pb2.Pod) -> Pod:
    if not message.uid or message.owner_source not in OWNER_SOURCES:
        raise Unreadable(
            f"inventory.pods: pod {message.uid[:80]!r} has no uid, or an owner known by {message.owner_source[:20]!r}"
        )
    if len(message.labels) > MAX_POD_LABELS:
        raise Unreadable(f"inventory.pods: {len(message.labels)} labels, at most {MAX_POD_LABELS} are accepted")
    has_service = message.service_namespace and message.service
    return Pod(
        uid=escaped_name(message.uid),
        namespace=escaped_name(message.namespace) or None,
        name=escaped_name(message.name) or None,
        owner_kind=escaped_name(message.owner_kind) or None,
        owner=escaped_name(message.owner) or None,
        owner_source=message.owner_source or None,
        service=checks.plain_service(message.service_namespace, message.service) if has_service else None,
        labels={escaped_name(label.key): escaped_name(label.value) for label in message.labels}
        if message.labels_known
        else None,
    )


def _finding(message: inventory_pb2.Finding) -> Finding:
    if not message.id or message.severity not in _SEVERITIES or message.confidence not in _CONFIDENCES:
        raise Unreadable(
            f"inventory.findings: {message.id[:80]!r} has severity {message.severity[:20]!r}"
            f" and confidence {message.confidence[:20]!r}"
        )
    return copied(Finding, message)
