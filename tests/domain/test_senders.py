"""What is absent, because of whom: by what each program could send, and by what came of it."""

import pytest

from tierscope.domain.counters.senders import SENDERS
from tierscope.domain.counters.unsent import Sent, find_lack, find_offers, read_senders, why_unsent, write_sender

MOVES = "host|vmstat|pgpromote_success"
DEFAULTS = [
    "host|vmstat|oom_kill",
    "host|vmstat|pgfault",
    "host|vmstat|pgmajfault",
    "host|vmstat|pswpin",
    "host|meminfo|MemTotal",
    "host|pressure.memory|some_total_us",
    "host|pressure.cpu|some_total_us",
    "host|stat|ctxt",
]
WITH_FLAGS = [
    *DEFAULTS,
    *(
        f"host|vmstat|{name}"
        for name in ("pgactivate", "pgdeactivate", "pgfree", "pgrotated", "numa_hit", "numa_local")
    ),
    "node:0|meminfo|MemTotal",
]
PARTS = dict.fromkeys(("vmstat", "meminfo", "pressure", "stat"), True)
"""What node_exporter says of its collectors in each scrape."""
AGENT = "Run our agent on the host, which reads them."


def reason(sent: Sent, key: str) -> str | None:
    """Why a counter did not come."""
    found = why_unsent([sent], [key])
    return None if found is None else found.reason


def test_node_exporter_without_flags_sends_no_moves() -> None:
    sent = find_offers("node_exporter", DEFAULTS, PARTS)
    told = reason(sent, MOVES)
    assert told is not None
    assert told.startswith(
        "node_exporter sends no such series: start it with --collector.vmstat.fields='^(oom_kill|pg|"
    )
    assert "--collector.meminfo_numa" in (reason(sent, "node:1|meminfo|MemTotal") or "")
    assert reason(sent, "host|damos|sz_applied[0]") == (
        "node_exporter sends no such series. Run our agent on the host, which reads them."
    )
    lack = find_lack([sent], DEFAULTS)
    assert lack is not None
    assert lack.lacking == ("promotions", "demotions", "hint faults", "memory by node")
    assert lack.fix.count("--collector.vmstat.fields") == 1
    assert lack.fix.endswith("--collector.meminfo_numa.")


def test_what_comes_beside_the_others_of_its_kind_and_is_absent_is_the_kernels() -> None:
    sent = find_offers("node_exporter", WITH_FLAGS, PARTS)
    assert reason(sent, MOVES) is None
    assert reason(sent, "host|vmstat|numa_hint_faults") is None
    assert find_lack([sent], WITH_FLAGS) is None
    # Its zoneinfo prints some lines of each node, and none of moves.
    by_node = find_offers(
        "node_exporter", [*WITH_FLAGS, "zone:1/Normal|zoneinfo|min", "node:1|vmstat|nr_free_pages"], {}
    )
    assert "node_exporter sends no such series" in (reason(by_node, "node:1|vmstat|pgdemote_kswapd") or "")
    # A pattern for some counters alone, which says nothing of others.
    some = find_offers("node_exporter", [*DEFAULTS, "host|vmstat|pgscan_kswapd"], {})
    assert reason(some, MOVES) is not None


@pytest.mark.parametrize(("parts", "known"), [({"pressure": False}, True), ({"pressure": True}, False), ({}, False)])
def test_a_collector_that_ran_and_saw_nothing_is_the_kernels_answer(parts: dict[str, bool], *, known: bool) -> None:
    sent = find_offers("node_exporter", ["host|vmstat|pgfault"], parts)
    assert (reason(sent, "host|pressure.memory|some_total_us") is None) is known


def test_telegraf_prints_the_whole_of_vmstat() -> None:
    sent = find_offers("telegraf", ["host|vmstat|pgactivate", "host|vmstat|pgfault", "host|vmstat|pgfree"], {})
    assert reason(sent, MOVES) is None
    assert "by node" in (reason(sent, "node:0|meminfo|MemTotal") or "")
    without = find_offers("telegraf", ["host|meminfo|MemTotal"], {})
    assert "[[inputs.kernel_vmstat]]" in (reason(without, MOVES) or "")


def test_old_performance_co_pilot_knows_no_moves() -> None:
    sent = find_offers("pcp", ["host|vmstat|pgactivate", "host|vmstat|pgfault", "host|vmstat|pgfree"], {})
    assert "PCP 7" in (reason(sent, MOVES) or "")
    assert reason(sent, "host|vmstat|numa_hint_faults") is None
    for name in ("workingset_refault_anon", "workingset_refault_file", "pgrefill", "zswpout", "pgdemote_proactive"):
        assert reason(sent, f"host|vmstat|{name}") == f"Performance Co-Pilot sends no such series. {AGENT}"
    assert "PCP 7" in (reason(sent, "host|vmstat|pgsteal_anon") or "")
    # The list of 6.0.3 has this one beside none of moves.
    sent = find_offers(
        "pcp", [f"host|vmstat|{name}" for name in ("pgactivate", "pgfault", "pgfree", "pgsteal_file")], {}
    )
    assert "PCP 7" in (reason(sent, MOVES) or "")


def test_of_two_senders_one_is_enough() -> None:
    both = [find_offers("hostmetrics", ["host|meminfo|MemTotal"], {}), find_offers("node_exporter", WITH_FLAGS, PARTS)]
    assert why_unsent(both, [MOVES]) is None
    assert why_unsent([], [MOVES]) is None, "agents send all that the kernel prints"


def test_settings_name_their_program_where_several_send() -> None:
    both = [find_offers("hostmetrics", ["host|meminfo|MemTotal"], {}), find_offers("node_exporter", DEFAULTS, PARTS)]
    told = why_unsent(both, [MOVES])
    assert told is not None
    who = "hostmetrics of the OpenTelemetry collector and node_exporter send"
    assert told.reason.startswith(f"{who} no such series: start it with --collector.vmstat.fields=")
    assert told.reason.endswith(" (node_exporter).")
    lack = find_lack(both, DEFAULTS)
    assert lack is not None
    assert lack.cause.startswith(f"{who} nothing of: ")
    assert lack.fix.endswith(" --collector.meminfo_numa (node_exporter).")


def test_what_tells_of_containers_alone_is_not_to_blame() -> None:
    lack = find_lack([find_offers("cadvisor", [MOVES], {}), find_offers("node_exporter", DEFAULTS, PARTS)], DEFAULTS)
    assert lack is not None
    assert lack.cause.startswith("node_exporter sends nothing of: promotions, ")
    assert lack.fix.startswith("Start it with --collector.vmstat.fields=")
    alone = find_lack([find_offers("pcp", ["host|vmstat|pgfault"], {})], [])
    assert alone is not None
    assert alone.fix == "Log, or ask pmproxy for, mem.vmstat of PCP 7 or later, mem.vmstat, mem.numa.util."


@pytest.mark.parametrize(
    ("kept", "parts"),
    [
        # As managed services and charts keep them: a few names, and none by which node_exporter tells of itself.
        (["host|vmstat|pgmajfault", "host|meminfo|MemTotal"], {}),
        (["host|vmstat|pgmajfault", "host|meminfo|MemTotal", "host|stat|ctxt"], {"meminfo": True}),
        (["host|meminfo|MemTotal", "host|vmstat|pgfault"], PARTS),
    ],
    ids=["list", "one-line-of-vmstat", "no-pressure-though-it-was-read"],
)
def test_what_a_filter_on_the_way_drops_is_no_matter_of_flags_alone(kept: list[str], parts: dict[str, bool]) -> None:
    sent = find_offers("node_exporter", kept, parts, version="1.9.1")
    for key, series in (
        ("host|vmstat|pgfault", "node_vmstat_.*"),
        ("host|pressure.cpu|some_total_us", "node_pressure_.*"),
    ):
        if key not in kept:
            assert reason(sent, key) == (
                "node_exporter sends no such series: it prints them, and a filter on the way drops them: "
                f"let {series} through."
            )
    moves = reason(sent, MOVES) or ""
    assert moves.startswith("node_exporter sends no such series: start it with --collector.vmstat.fields=")
    assert moves.endswith(", and let node_vmstat_.* through the filter on the way.")
    lack = find_lack([sent], kept)
    assert lack is not None
    through = "let node_vmstat_.* and node_memory_numa_.* through it."
    assert lack.fix.endswith(f"--collector.meminfo_numa. A filter on the way drops names: {through}")


def test_what_is_missing_of_containers_is_cadvisors_or_was_dropped() -> None:
    of_services = [f"service:shop/cart|{counter}" for counter in ("memory.stat|anon", "memory.stat|file")]
    both = [find_offers("cadvisor", of_services, {}), find_offers("node_exporter", WITH_FLAGS, PARTS)]
    dropped = why_unsent(both, ["service:shop/cart|memory.swap.current|current"])
    assert dropped is not None
    assert dropped.reason == (
        "cAdvisor sends no such series: it prints them, and a filter on the way drops them: "
        "let container_memory_swap through."
    )
    never = why_unsent(both, ["service|memory.stat|pgdemote_kswapd"])
    assert never is not None
    assert never.reason == "cAdvisor sends no such series. It prints none: our agent on the machine reads them."
    assert why_unsent(both, [MOVES]) is None, "that is node_exporter's to tell"


def test_senders_are_kept_in_inventories() -> None:
    sent = find_offers("node_exporter", DEFAULTS, {"zoneinfo": False}, version="1.12.1")
    assert read_senders({"senders": [write_sender(sent), {"name": "unheard of"}]}) == (sent,)
    assert sent.refused == {"zoneinfo"}


def test_the_catalogue_covers_what_it_witnesses() -> None:
    for sender in SENDERS.values():
        for offer in sender.offers:
            assert offer.setting or not offer.witnesses
            assert all(key.split("|")[0] in ("host", "node:0") for key in offer.witnesses)
            first = [next(one for one in sender.offers if one.covers(key)) for key in offer.witnesses]
            assert all(one is offer for one in first), (sender.name, offer.name)
