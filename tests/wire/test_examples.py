"""The golden examples of the contract decode, and say what their readable twins say, value by value."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tierscope.domain._generated.heat_columns import HEAT_COLUMNS
from tierscope.domain.curve.sample_blocks import unpack_sample
from tierscope.domain.heat.rows import BACKENDS, GRANULARITIES, KINDS, Method
from tierscope.domain.ingest.batch import Batch, GapBlock, HeatBlock, PageSample, Pod, ServiceKey
from tierscope.wire.decode import DecodeLimits, decode_body, decode_message

EXAMPLES = Path(__file__).parents[2] / "contract" / "examples" / "batch"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.pb"))


def load(name: str) -> tuple[Batch, dict[str, Any]]:
    batch = decode_message((EXAMPLES / f"{name}.pb").read_bytes(), DecodeLimits()).batch
    return batch, json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))


def method_of(method: Method) -> dict[str, object]:
    """What measured, in the words of the twins."""
    return {
        "backend": BACKENDS[method.backend],
        "granularity": GRANULARITIES[method.granularity],
        "interval_ns": method.interval_ns,
    }


def test_there_are_examples() -> None:
    assert {"counters", "heat", "tiles", "inventory", "self_report", "page_samples"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_decodes_to_its_readable_twin(name: str) -> None:
    batch, twin = load(name)
    header = ("host_id", "seq", "boot_id", "agent_version", "origin", "sealed_wall_ns", "sealed_boottime_ns")
    assert {name: getattr(batch, name) for name in header} == {name: twin[name] for name in header}
    parts = ("layouts", "counters", "heat", "gaps", "tile_epochs", "tile_columns", "page_samples")
    assert {part for part in parts if getattr(batch, part)} == {part for part in parts if twin[part]}


def test_the_counters_of_the_example_are_those_of_its_twin() -> None:
    batch, twin = load("counters")
    keys = {layout.hash.hex(): layout.keys for layout in batch.layouts}
    found = []
    for block in batch.counters:
        names = keys[block.layout_hash.hex()]
        for place in range(len(block.values)):
            present = block.present[place].tolist() if block.present is not None else [True] * len(names)
            values = block.values[place].tolist()
            found.append(
                {name: value if there else None for name, value, there in zip(names, values, present, strict=True)}
            )
    assert found == [sample["values"] for sample in twin["counters"]]


def heat_rows(block: HeatBlock) -> list[dict[str, object]]:
    found = []
    for place, service in enumerate(block.services):
        row: dict[str, object] = method_of(block.method) | {
            "end_wall_ns": int(block.end_wall_ns[place]),
            "end_boottime_ns": None if block.end_boottime_ns is None else int(block.end_boottime_ns[place]),
            "service": f"{service.namespace}/{service.name}",
            "group": block.groups[place],
            "kind": KINDS[int(block.kinds[place])],
            "page_size_bytes": int(block.page_sizes[place]),
            "tier": block.tiers[place] or None,
            "period_events": block.period_events,
            "duty_ratio": block.duty_ratio,
            "bits_per_interval": block.bits_per_interval,
        }
        for column in HEAT_COLUMNS:
            values = block.columns[column.name][place] if column.name in block.columns else None
            if column.name == "validity" and values is not None:
                values = values.view(np.uint64)
            absent = values is None or (column.absent is not None and (values == column.absent).all())
            value = None if absent or values is None else int(values[0]) if column.width == 1 else values.tolist()
            row[column.name] = value
        found.append(row)
    return found


def gap_rows(block: GapBlock) -> list[dict[str, object]]:
    common = method_of(block.method) | {"end_wall_ns": block.end_wall_ns, "intervals": block.intervals}
    assert block.censored_bytes is not None
    return [
        common
        | {
            "service": f"{service.namespace}/{service.name}",
            "group": block.groups[place],
            "kind": KINDS[int(block.kinds[place])],
            "closed_bytes": block.closed_bytes[place].tolist(),
            "freed_bytes": block.freed_bytes[place].tolist(),
            "open_bytes": block.open_bytes[place].tolist(),
            "censored_bytes": block.censored_bytes[place].tolist(),
        }
        for place, service in enumerate(block.services)
    ]


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in an order of their own: blocks gather rows of one kind."""
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def test_heat_and_gaps_of_the_example_are_those_of_its_twin() -> None:
    batch, twin = load("heat")
    assert ordered([row for block in batch.heat for row in heat_rows(block)]) == ordered(twin["heat"])
    assert ordered([row for block in batch.gaps for row in gap_rows(block)]) == ordered(twin["gaps"])


def sample_view(sample: PageSample) -> dict[str, object]:
    pages = unpack_sample(sample.body)
    ends = sample.end_wall_ns - pages.before_end_ns
    of_pages = zip(
        pages.page_ids.view(np.uint64).tolist(),
        pages.kinds.tolist(),
        pages.page_sizes_bytes.tolist(),
        pages.first_interval.tolist(),
        pages.last_interval.tolist(),
        strict=True,
    )
    of_rows = zip(pages.row_interval, pages.row_page, pages.row_loads, pages.row_stores, strict=True)
    names = ("interval", "page", "loads", "stores")
    return method_of(sample.method) | {
        "service": f"{sample.service.namespace}/{sample.service.name}",
        "group": sample.group,
        "sampled_ratio": sample.sampled_ratio,
        "counts": sample.counts,
        "period_events": sample.period_events,
        "duty_ratio": sample.duty_ratio,
        "intervals": [
            {"end_wall_ns": end, "observed": observed}
            for end, observed in zip(ends.tolist(), pages.observed.tolist(), strict=True)
        ],
        "pages": [
            {"id": page, "kind": KINDS[kind], "page_size_bytes": size, "first_interval": first, "last_interval": last}
            for page, kind, size, first, last in of_pages
        ],
        "rows": [dict(zip(names, map(int, row), strict=True)) for row in of_rows],
    }


def test_the_page_samples_of_the_example_are_those_of_its_twin() -> None:
    batch, twin = load("page_samples")
    assert [sample_view(sample) for sample in batch.page_samples] == twin["page_samples"]


def test_the_inventory_of_the_example_is_that_of_its_twin() -> None:
    batch, twin = load("inventory")
    assert batch.inventory is not None
    wanted = dict(twin["inventory"])
    # Labels of the agent's own file and those of the cluster travel in one list, each with its source.
    from_cluster = wanted.pop("kubernetes_labels")
    assert batch.inventory.kubernetes_labels_partial is wanted.pop("kubernetes_labels_partial")
    (pod,) = wanted["pods"]["pods"]
    found = batch.inventory.pods
    assert found is not None
    of_list = wanted.pop("pods")
    assert (found.left_out, found.unavailable) == (of_list["left_out"], of_list["unavailable"])
    assert found.pods == (
        Pod(
            **{
                name: pod[name]
                for name in ("uid", "namespace", "name", "owner_kind", "owner", "owner_source", "labels")
            },
            service=ServiceKey(pod["service_namespace"], pod["service"]),
        ),
    )
    wanted |= {
        "labels": [
            *({"key": key, "value": value, "source": ""} for key, value in wanted["labels"].items()),
            *({"key": key, "value": value, "source": "kubernetes"} for key, value in from_cluster.items()),
        ],
        # A text that is missing and an empty one are the same on the wire.
        "knobs": [knob | {"unavailable": knob["unavailable"] or ""} for knob in wanted["knobs"]],
    }
    assert batch.inventory.body == wanted


def test_the_report_of_the_example_is_that_of_its_twin() -> None:
    batch, twin = load("self_report")
    assert batch.self_report is not None
    found = {name: getattr(batch.self_report, name) for name in twin["self"] if name != "collectors"}
    assert found | {"collectors": list(batch.self_report.collectors)} == twin["self"]


def test_the_compressed_example_is_a_body() -> None:
    assert decode_body((EXAMPLES / "body.pb.zst").read_bytes(), DecodeLimits()).batch.host_id
