"""What `tierscope up` survives; `make faults` plays it and records how long it took, `--elsewhere` here too."""

import os
from collections.abc import Iterator

import pytest

from faults.stage import NotHereError
from faults.supervised import ROWS, Supervised, SupervisedRow, play, supervised
from fixtures.elsewhere import one_of_each_kind

SEED = int(os.environ.get("FAULTS_SEED", "1"))
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scene() -> Iterator[Supervised]:
    try:
        with supervised(SEED) as running:
            yield running
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("row", one_of_each_kind(ROWS, (), "make faults"))
def test_the_supervisor_brings_all_parts_back(scene: Supervised, row: SupervisedRow) -> None:
    try:
        recovered = play(scene, row, SEED)
    except NotHereError as reason:
        pytest.skip(str(reason))
    assert recovered.faults() == [], f"FAULTS_SEED={SEED}: {scene.log()}"
