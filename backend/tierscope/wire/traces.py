"""Page samples: checked, packed and compressed while decoding, so that storing them is a copy."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from tierscope.core.errors import Unreadable
from tierscope.domain.curve.sample_blocks import MAX_BODY_BYTES, MAX_PAGES, SampledPages, find_fault, pack_sample
from tierscope.domain.ingest.batch import Int64, PageSample
from tierscope.wire import checks
from tierscope.wire._generated import traces_pb2

MAX_INTERVALS = 4096
MAX_PAGE_SIZE_BYTES = 1 << 30


def decode_page_samples(
    messages: Iterable[traces_pb2.PageSampleBlock], strings: checks.Strings
) -> tuple[PageSample, ...]:
    """Checks the page samples of a batch: each alone, and the pages of one service together."""
    found = tuple(_decode(message, strings) for message in messages)
    pages: Counter[tuple[object, int]] = Counter()
    for sample in found:
        pages[sample.service, sample.end_wall_ns] += sample.n_pages
    for (service, _), count in pages.items():
        if count > MAX_PAGES:
            raise Unreadable(f"page_samples: {count} pages of {service} at one time, at most {MAX_PAGES} are accepted")
    return found


def _decode(message: traces_pb2.PageSampleBlock, strings: checks.Strings) -> PageSample:
    k = len(message.end_wall_ns)
    if not 0 < k <= MAX_INTERVALS:
        raise Unreadable(f"page_samples: a block of {k} intervals, accepted is 1..{MAX_INTERVALS}")
    ends = checks.wall_times(checks.column(message.end_wall_ns, "page_samples.end_wall_ns", k), "page_samples")
    pages = _pages(message, ends)
    fault = find_fault(pages)
    if fault is not None:
        raise Unreadable(f"page_samples: a block {fault}")
    sampled_ratio = checks.real(message.sampled_ratio, "page_samples.sampled_ratio", 0, 1)
    if sampled_ratio == 0:
        raise Unreadable("page_samples.sampled_ratio is 0, it must be above 0 and at most 1")
    body = pack_sample(pages)
    if len(body) > MAX_BODY_BYTES:
        raise Unreadable(
            f"page_samples: a block takes {len(body)} bytes packed, at most {MAX_BODY_BYTES} are accepted:"
            " the agent must halve its sampling rate"
        )
    return PageSample(
        service=strings.service(message.service_ref, "page_samples.service_ref"),
        group=strings.text(message.group_ref, "page_samples.group_ref"),
        method=checks.method(message.backend, message.granularity, message.interval_ns, "page_samples"),
        end_wall_ns=int(ends[-1]),
        sampled_ratio=sampled_ratio,
        counts=message.counts,
        period_events=checks.real(message.period_events, "page_samples.period_events", 0, 1e18) or None,
        duty_ratio=checks.real(message.duty_ratio, "page_samples.duty_ratio", 0, 1) or None,
        n_intervals=k,
        n_pages=len(pages.page_ids),
        n_rows=len(pages.row_interval),
        body=body,
    )


def _pages(message: traces_pb2.PageSampleBlock, ends: Int64) -> SampledPages:
    k, m, r = len(ends), len(message.kind), len(message.row_interval)
    if not 0 < m <= MAX_PAGES:
        raise Unreadable(f"page_samples: a block of {m} pages, accepted is 1..{MAX_PAGES}")
    checks.check_length(len(message.observed), k, "page_samples.observed")
    sizes = checks.column(message.page_size_bytes, "page_samples.page_size_bytes", m)
    rows = {
        name: checks.column(getattr(message, name), f"page_samples.{name}", r)
        for name in ("row_interval", "row_page", "row_loads", "row_stores")
    }
    return SampledPages(
        before_end_ns=ends[-1] - ends,
        observed=np.fromiter(message.observed, np.bool_, count=k),
        page_ids=checks.matrix(message.page_ids, "page_samples.page_ids", m, 1).reshape(m),
        kinds=checks.kinds(message.kind, "page_samples.kind", m),
        page_sizes_bytes=checks.in_range(sizes, "page_samples.page_size_bytes", 1, MAX_PAGE_SIZE_BYTES),
        first_interval=checks.column(message.first_interval, "page_samples.first_interval", m),
        last_interval=checks.column(message.last_interval, "page_samples.last_interval", m),
        **rows,
    )
