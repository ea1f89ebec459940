"""A pair of work and fault of each kind; `make faults ARGS="--pairs 40"` draws them from all that make sense."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.matrix import SETTINGS
from faults.pairs import Pair, draw_pairs, pair_stage, play_pair
from faults.stage import NotHereError
from fixtures.elsewhere import long

SEED = 1
KEPT = (("restore", "command-killed"), ("purge-host", "database-killed"), ("move", "node-killed"))
"""A command that is killed, a worker without its database, two servers of which one is away."""


def kept() -> list[Pair]:
    return [pair for pair in draw_pairs(1000, SEED) if (pair.work.name, pair.fault.name) in KEPT]


def test_a_seed_draws_the_same_pairs_whatever_is_played_of_them() -> None:
    drawn = draw_pairs(40, SEED)
    assert drawn == draw_pairs(40, SEED) != draw_pairs(40, SEED + 1)
    assert draw_pairs(12, SEED) == drawn[:12]
    assert len({(pair.work, pair.fault) for pair in draw_pairs(1000, SEED)}) == len(draw_pairs(1000, SEED)) > 100


@long
@pytest.mark.slow
@pytest.mark.parametrize("pair", kept(), ids=lambda pair: f"{pair.work.name}-{pair.fault.name}")
def test_what_was_acknowledged_is_accounted_for_where_a_fault_hits_a_work(pair: Pair) -> None:
    with ExitStack() as running:
        try:
            stage, clock = running.enter_context(
                pair_stage(Path("/nonexistent"), SETTINGS, two_servers=pair.two_servers)
            )
        except NotHereError as reason:
            pytest.skip(str(reason))
        played = play_pair(stage, clock, pair, SEED)
        assert played.faults == (), f"{pair.title}, seed {SEED}: {played.notes}\n{stage.logs()}"
        assert played.counts.acknowledged > 0
