"""Each reader takes what it begins from, and breaks on none of some changed bodies; `make fuzz` goes on for long."""

import random

import pytest

from fuzz.mutate import MAX_BYTES, mutate
from fuzz.targets import TARGETS, Target

BODIES = 300


def by_name(target: Target) -> str:
    return target.name


@pytest.mark.parametrize("target", TARGETS, ids=by_name)
def test_a_reader_takes_what_it_begins_from(target: Target) -> None:
    for body in target.seeds:
        target.read(body)


@pytest.mark.parametrize("target", TARGETS, ids=by_name)
def test_a_reader_refuses_by_name_or_reads(target: Target) -> None:
    rng = random.Random(1)  # noqa: S311 - no secret
    read = refused = 0
    for _ in range(BODIES):
        try:
            target.read(mutate(rng, target.seeds))
            read += 1
        except target.may_raise:
            refused += 1
    assert read + refused == BODIES
    assert refused > 0, "nothing that was changed was refused: the bodies reach no check"


def test_changed_bodies_follow_the_seed_and_stay_small() -> None:
    seeds = [b"abc", b"x" * MAX_BYTES]
    drawn = []
    for _ in range(2):
        rng = random.Random(7)  # noqa: S311 - no secret
        drawn.append([mutate(rng, seeds) for _ in range(200)])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 100
    assert max(map(len, drawn[0])) <= MAX_BYTES
