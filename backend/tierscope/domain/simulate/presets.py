"""The registry of synthetic workloads: what each is, where its parameters are from, and what its paper measured.

Tags of parameters: [S] in the paper's text, [D] in YCSB's own definitions, [A] an assumption of ours. Method and
sources: docs/method/workloads.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Workload:
    """A synthetic workload. `measured` are statements of its paper about real hosts, in words; nothing here is."""

    label: str
    source: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    measured: tuple[str, ...] = ()


_TPP = "synthetic; fitted to the text of TPP (arXiv 2206.02878), section 3"
_TUNED = f"{_TPP}, and tuned to results in its section 6"
_PATTERN = "synthetic; one behaviour alone"
_YCSB = "synthetic; YCSB (Cooper et al., SoCC 2010) and its workload files"
_MEMO = "synthetic; MEMO (Sun et al., MICRO 2023, arXiv 2303.15375)"
_DSB = "synthetic; DeathStarBench's social network (Gan et al., ASPLOS 2019), as MEMO ran it"
_RECORDS = {
    "record": "1,000 bytes in 10 fields [D], four to a page [A]",
    "accesses": "20 a page and interval on average [A]",
}
_ZIPFIAN = {"distribution": "zipfian 0.99, scrambled [D]", **_RECORDS}
_MEMO_REDIS = (
    "MEMO: redis under YCSB-A saturates near 80,000 operations/s in DRAM, 65,000 with half on CXL, 55,000 all on CXL",
    "MEMO: no share on CXL is better than none; the 99th percentile differs from 20,000 operations/s on",
)

WORKLOADS: Mapping[str, Workload] = {
    "web1": Workload(
        "Web1 (HHVM)",
        _TUNED,
        measured=("TPP, 2:1: 22 % of accesses local under default Linux, 90 % under TPP; loss 16.5 % and 0.5 %",),
    ),
    "cache1": Workload(
        "Cache1",
        _TUNED,
        measured=("TPP, 1:4: 85 % of accesses local under TPP, 46 % under NUMA balancing; loss 0.5 % and 10 %",),
    ),
    "cache2": Workload(
        "Cache2", _TPP, measured=("TPP, 2:1: 78 % of accesses local under default Linux, 91 % under TPP",)
    ),
    "data_warehouse": Workload(
        "Data Warehouse", _TPP, measured=("TPP, 2:1: loss 0.5 to 0.7 % under default Linux and under TPP",)
    ),
    "ads": Workload("Ads", _TPP, measured=("TPP: the hot set is nearly all anonymous; no result of its own",)),
    "ycsb_a": Workload(
        "YCSB A: update heavy", _YCSB, {"operations": "50 % reads, 50 % updates [D]", **_ZIPFIAN}, _MEMO_REDIS
    ),
    "ycsb_b": Workload("YCSB B: read mostly", _YCSB, {"operations": "95 % reads, 5 % updates [D]", **_ZIPFIAN}),
    "ycsb_c": Workload("YCSB C: read only", _YCSB, {"operations": "all reads [D]", **_ZIPFIAN}),
    "ycsb_d": Workload(
        "YCSB D: read latest",
        _YCSB,
        {
            "operations": "95 % reads, 5 % inserts [D]",
            "distribution": "latest: zipfian 0.99 by age [D]",
            "growth": "inserts fill the last fifth of memory over the trace [A]",
            **_RECORDS,
        },
        ("KeyarchOS: redis, 1:4, `latest`: with tiering 6 % more than without; where the hot set fits, 12 % and more",),
    ),
    "ycsb_e": Workload(
        "YCSB E: short ranges",
        _YCSB,
        {"operations": "95 % scans of 1 to 100 records, 5 % inserts [D]", **_ZIPFIAN},
    ),
    "ycsb_f": Workload("YCSB F: read-modify-write", _YCSB, {"operations": "50 % reads, 50 % r-m-w [D]", **_ZIPFIAN}),
    "dlrm_embeddings": Workload(
        "DLRM embedding tables",
        _MEMO,
        {"tables": "8 of one size, zipf exponents 0.6 to 1.05 [A]", "accesses": "reads alone [S]"},
        (
            "MEMO: with 8 channels even 3.23 % on CXL costs throughput",
            "MEMO: with 2 channels DRAM flattens at 24 threads; 20 % on CXL gives 11 % more at 32",
        ),
    ),
    "dsb_compose_post": Workload(
        "DeathStarBench: compose post",
        _DSB,
        {"mix": "posts are written: newest posts hot, timelines of followers touched [A]"},
        ("MEMO: the tail rises with databases and caches on CXL; the saturation point does not move",),
    ),
    "dsb_read_user_timeline": Workload(
        "DeathStarBench: read user timeline",
        _DSB,
        {"mix": "timelines and their posts are read, users alike [A]"},
        ("MEMO: almost unchanged with databases and caches on CXL",),
    ),
    "dsb_mixed": Workload(
        "DeathStarBench: mixed",
        _DSB,
        {"mix": "60 % home timelines, 30 % user timelines, 10 % posts [S]"},
        ("MEMO: almost unchanged with databases and caches on CXL",),
    ),
    "pmbench": Workload(
        "pmbench, normal distribution",
        "synthetic; letter of the hot-page-selection patches (Linux 6.1)",
        {"accesses": "80 % reads, 20 % writes [S]", "sigma": "0.15 of memory [A]"},
        ("the letter: hot-page selection, limit and automatic threshold: score +16.1 %, promotion traffic -81.1 %",),
    ),
    "memo_sequential": Workload(
        "MEMO: sequential reads",
        _MEMO,
        {"pattern": "all pages alike [S]"},
        ("MEMO: DRAM of 8 channels 221 GB/s at 26 threads; CXL peaks at 8 threads, 16.8 GB/s beyond 12",),
    ),
    "memo_random_block": Workload(
        "MEMO: random blocks",
        _MEMO,
        {"pattern": "blocks of 16 KiB [S], a quarter of them in an interval [A]"},
        ("MEMO: CXL does not rise beyond 4 threads; DRAM of 8 channels scales from blocks of 16 KiB on",),
    ),
    "memo_pointer_chase": Workload(
        "MEMO: pointer chase",
        _MEMO,
        {"pattern": "a random ring through all pages [S], two rounds in an interval [A]"},
        ("MEMO: latency on CXL 4.0 times that of local DRAM, 2.2 times that of remote DRAM of one channel",),
    ),
    "zipf": Workload("Zipf, exponent 0.99", _PATTERN),
    "scan": Workload("Repeated scan", _PATTERN),
    "phase_change": Workload("Hot fifth that moves every ten intervals", _PATTERN),
    "growth": Workload("Growing memory, the newest tenth hot", _PATTERN),
    "ping_pong": Workload("Two sets in turn", _PATTERN),
}
"""The synthetic workloads by name: TPP's services, those of other papers, single behaviours. All simulated."""
NAMESPACE = "workload"
"""Of services of the twin that stand for one of them."""
TWIN_WORKLOADS = tuple(name for name in WORKLOADS if name.startswith(("ycsb_", "dlrm_", "dsb_", "pmbench", "memo_")))
"""Those that the twin's fleet can have beside its own services, which follow TPP's."""


def find_workload(name: str) -> str:
    """The name of a workload as the registry has it; hyphens and capitals make no difference.

    Raises:
        ValueError: there is no such workload.
    """
    wanted = name.replace("-", "_").lower()
    if wanted not in WORKLOADS:
        raise ValueError(f"there is no workload {name[:80]!r}: choose one of {', '.join(WORKLOADS)}")
    return wanted
