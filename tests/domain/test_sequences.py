"""Sequence numbers: every number is taken once, whatever the order, and the state never forgets one."""

from hypothesis import given
from hypothesis import strategies as st

from tierscope.domain.ingest.sequences import MAX_GAPS, Sequence


@given(seqs=st.lists(st.integers(0, 40), max_size=80))
def test_a_number_is_accepted_exactly_the_first_time(seqs: list[int]) -> None:
    state, seen = Sequence(), set[int]()
    for seq in seqs:
        decision, state = state.take(seq)
        assert decision == ("duplicate" if seq in seen else "accepted")
        seen.add(seq)
        missing = {number for low, high in state.gaps for number in range(low, high)}
        assert set(range(state.next_seq)) - missing == seen
        assert all(low < high for low, high in state.gaps)
        assert all(before[1] < after[0] for before, after in zip(state.gaps, state.gaps[1:], strict=False))


def test_a_stream_in_order_keeps_no_gaps() -> None:
    state = Sequence()
    for seq in range(1000):
        _, state = state.take(seq)
    assert state == Sequence(1000, ())


def test_gaps_are_bounded_and_known_numbers_still_work() -> None:
    state = Sequence()
    for number in range(1, MAX_GAPS + 1):
        decision, state = state.take(2 * number)
        assert decision == "accepted"
    assert state.take(2 * MAX_GAPS + 10)[0] == "too_many_gaps"
    assert state.take(2 * MAX_GAPS + 1)[0] == "accepted"
    assert state.take(2 * MAX_GAPS)[0] == "duplicate"
    assert state.take(1)[0] == "accepted"
