"""The metric catalogue is well-formed, and what is generated from it is up to date."""

from pathlib import Path

import pytest

from architecture.tree import load_script
from tierscope.domain._generated.catalogue import METRICS, Metric

ROOT = Path(__file__).resolve().parents[2]


generator = load_script("contract/gen_catalogue.py")

ENTRY = {
    "name": "pgfault",
    "source": "vmstat",
    "unit": "faults",
    "kind": "counter",
    "scopes": ["host"],
    "kernel": "all",
    "added_in": "0.1.0",
    "help": "Page faults.",
}


def find(source: str, name: str) -> Metric:
    (metric,) = [metric for metric in METRICS if (metric.source, metric.name) == (source, name)]
    return metric


def test_names_are_unique_within_a_source() -> None:
    keys = [(metric.source, metric.name) for metric in METRICS]
    assert len(keys) == len(set(keys))


def test_every_generated_file_is_up_to_date() -> None:
    texts = generator.render_all(generator.load_metrics())
    stale = [str(path) for path, text in texts.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run contract/gen_catalogue.py and commit the result"


def test_the_counters_of_tier_moves_are_kept_for_long_and_per_node() -> None:
    for name in ("pgpromote_success", "pgpromote_candidate", "pgdemote_kswapd", "pgdemote_direct"):
        metric = find("vmstat", name)
        assert metric.rollup
        assert metric.scopes == ("host", "node")
        assert (metric.unit, metric.kind) == ("pages", "counter")


def test_kernel_stacks_are_kib_among_pages() -> None:
    assert find("vmstat", "nr_kernel_stack").unit == "kib"


def test_texts_are_ascii_so_that_one_literal_serves_all_languages() -> None:
    for metric in METRICS:
        assert (metric.name + metric.help + metric.trust + metric.kernel).isascii(), metric.name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": "parsecs"}, "unit `parsecs` is unknown"),
        ({"kind": "guess"}, "kind `guess` is unknown"),
        ({"scopes": ["galaxy"]}, "`scopes` must be a list"),
        ({"help": ""}, "`help` is missing"),
        ({"colour": "red"}, "`colour` is not a key"),
    ],
)
def test_a_broken_entry_is_refused_with_its_name(change: dict[str, object], message: str) -> None:
    with pytest.raises(generator.CatalogueError, match=message) as error:
        generator.parse_metric(ENTRY | change, where="vmstat.toml")
    assert "vmstat.toml: pgfault" in str(error.value)


def test_an_entry_that_stands_twice_is_refused(tmp_path: Path) -> None:
    table = "[[metric]]\n" + "\n".join(f"{key} = {value!r}" for key, value in ENTRY.items())
    (tmp_path / "a.toml").write_text(f"{table}\n{table}\n", encoding="utf-8")
    with pytest.raises(generator.CatalogueError, match=r"duplicate entry host\|vmstat\|pgfault"):
        generator.load_metrics(tmp_path)
