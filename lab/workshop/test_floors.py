"""The guard that keeps tests from vanishing reads the logs of all three suites."""

from workshop.floors import compare, count_python, count_rust, count_web, not_run, rust_skips, times, too_many_elsewhere


def test_counts_are_read_from_the_logs_of_each_suite() -> None:
    assert count_python("....\n1 failed, 12 passed, 3 skipped in 4.20s\n") == 16
    assert count_python("===== 12 passed, 1 warning in 61.20s (0:01:01) =====") == 12
    first, second = "ok. 5 passed; 0 failed; 1 ignored; 0 measured", "FAILED. 2 passed; 1 failed; 0 ignored;"
    assert count_rust(f"test result: {first}\n\ntest result: {second}\n") == 9
    assert count_web("\x1b[2m      Tests \x1b[22m 1 failed\x1b[39m | 40 passed (41)\n") == 41


def test_a_log_without_a_result_counts_as_nothing() -> None:
    assert [count("crashed") for count in (count_python, count_rust, count_web)] == [0, 0, 0]


def test_a_suite_below_its_floor_or_missing_is_named() -> None:
    assert compare({"python": 10, "rust": 3}, {"python": 10, "rust": 4, "web": 1}) == [
        "rust: 3 tests, the floor is 4",
        "web: 0 tests, the floor is 1",
    ]


def test_rust_tests_that_could_not_run_are_listed_once_with_their_reason() -> None:
    log = "skipped: no DAMON\ntest a ... ok\ntest b ... skipped: no DAMON\nskipped: no BPF\ntest a_skipped_one ... ok\n"
    assert rust_skips(log) == ["rust: 2 not run here: no DAMON", "rust: 1 not run here: no BPF"]


def test_more_cases_than_agreed_that_other_verbs_run_are_named() -> None:
    reasons = ("2, because no DAMON", "3, because `make faults` runs it", "2, because `make attack` runs it")
    log = "".join(f"not run here: {reason}\n" for reason in reasons)
    assert too_many_elsewhere(log, 5) == []
    assert too_many_elsewhere(log, 4) == ["elsewhere: 5 cases are left to other verbs, at most 4 may be"]


def test_long_cases_that_neither_verb_ran_are_told() -> None:
    log = "not run here: 3, because `make test-long` runs it\nnot run here: 2, because `make faults` runs it\n"
    assert not_run(log, "3 passed, 9 deselected in 4.20s\n") == []
    assert not_run(log, "2 passed in 4.20s\n") == [
        "long: `make test` left 3 cases to `make test-long`, which ran 2",
    ]


def test_the_time_of_each_suite_is_told() -> None:
    assert times("rust passed 200\nweb FAILED 40\nall took 210\n") == "rust 200 s, web 40 s; all 210 s"
