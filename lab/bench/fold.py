"""How long the pages of a process take to fold, and what the table takes per page."""

from bench import examples
from bench.figures import Row, Section

PAGES = 10_000_000
INTERVALS = 12
MOST_SECONDS = 1.0
MOST_BYTES_PER_PAGE = 40


def measure() -> Section:
    """Fold ten million pages for some intervals on one core."""
    found = examples.run("tierscope-sample", "fold_bench", str(PAGES), str(INTERVALS))
    slowest, per_page = found["seconds_max"], found["bytes_per_page"]
    return Section(
        title="Folding pages",
        rows=[
            Row(
                f"fold of {PAGES:,} pages, slowest of {INTERVALS - 1} intervals",
                f"{slowest:.2f} s",
                target=f"under {MOST_SECONDS:g} s",
                met=slowest < MOST_SECONDS,
            ),
            Row("the same, mean", f"{found['seconds_mean']:.2f} s"),
            Row(
                "memory per page",
                f"{per_page:.1f} bytes",
                target=f"at most {MOST_BYTES_PER_PAGE} bytes",
                met=per_page <= MOST_BYTES_PER_PAGE,
            ),
        ],
        notes=["One core; every page is listed, a third of them active, a hundredth of them new or gone."],
    )
