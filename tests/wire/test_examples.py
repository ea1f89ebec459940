"""The golden examples of the contract decode, and say what their readable twins say."""

import json
from pathlib import Path

import pytest

from tierscope.wire.decode import DecodeLimits, decode_body, decode_message

EXAMPLES = Path(__file__).parents[2] / "contract" / "examples" / "batch"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.pb"))


def test_there_are_examples() -> None:
    assert {"counters", "heat", "tiles", "inventory"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_decodes_to_its_readable_twin(name: str) -> None:
    batch = decode_message((EXAMPLES / f"{name}.pb").read_bytes(), DecodeLimits()).batch
    twin = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    assert (batch.host_id, batch.seq, batch.boot_id) == (twin["host_id"], twin["seq"], twin["boot_id"])
    assert batch.sealed_wall_ns == twin["sealed_wall_ns"]


def test_the_counters_of_the_example_are_those_of_its_twin() -> None:
    batch = decode_message((EXAMPLES / "counters.pb").read_bytes(), DecodeLimits()).batch
    twin = json.loads((EXAMPLES / "counters.json").read_text(encoding="utf-8"))
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


def test_the_compressed_example_is_a_body() -> None:
    assert decode_body((EXAMPLES / "body.pb.zst").read_bytes(), DecodeLimits()).batch.host_id
