"""Attacks in a small form, all on one instance; `make attack` is the long one, with all attacks."""

import os
from collections.abc import Iterator

import pytest

from attack.arena import Arena, running_arena
from attack.matrix import ATTACKS
from attack.play import Attack, play
from faults.programs import shipped_agent
from faults.stage import NotHereError
from fixtures.elsewhere import long, one_of_each_kind

SEED = int(os.environ.get("ATTACK_SEED", "1"))
KEPT = {attack.name for attack in ATTACKS} - {"bodies", "documents", "callers", "stores"}
"""test_memory.py in lab/bench sends bodies that are more than they seem, test_body_limits.py and test_properties.py
send some to every route, test_permissions.py asks all of them as every kind of caller, and test_object_lies.py
reads each lie of a store."""
pytestmark = [long, pytest.mark.slow, pytest.mark.running_clock]


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    binary = shipped_agent()
    if binary is None:
        pytest.skip("no agent is compiled: make agent")
    try:
        with running_arena(binary) as running:
            yield running
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("attack", one_of_each_kind(ATTACKS, KEPT, "make attack"))
def test_an_attack_does_not_go_through(arena: Arena, attack: Attack) -> None:
    if not arena.alive():
        pytest.fail("the instance does not live any more: an attack before this one ended it")
    played = play(arena, attack, SEED, small=True)
    assert played.findings == (), f"ATTACK_SEED={SEED}"
    assert played.requests > 0
