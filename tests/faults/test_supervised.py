"""What `tierscope up` survives, each fault once; `make faults` plays them in rounds and records how long it took."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from faults.stage import NotHereError
from faults.supervised import ROWS, Supervised, SupervisedRow, play, supervised

SEED = int(os.environ.get("FAULTS_SEED", "1"))
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scene() -> Iterator[Supervised]:
    try:
        with supervised(SEED) as running:
            yield running
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_supervisor_brings_all_parts_back(scene: Supervised, row: SupervisedRow) -> None:
    try:
        recovered = play(scene, row, SEED)
    except NotHereError as reason:
        pytest.skip(str(reason))
    assert recovered.faults() == [], f"FAULTS_SEED={SEED}: {scene.log()}"
