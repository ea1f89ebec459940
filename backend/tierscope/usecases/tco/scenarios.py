"""Stored scenarios of cost: read, add, change from a known version, delete; and a complete one to start from."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import Described
from tierscope.domain.base.pages import Page
from tierscope.domain.tco.published import DEFAULTS, PRESET_CURRENCY, PRESETS, Preset
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.tco import scenarios as stored
from tierscope.storage.tco.scenarios import ScenarioRow
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.repeated_requests import made_before, note_made
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor
from tierscope.usecases.tco.inputs import MODELLED
from tierscope.usecases.tco.prices import Price, preset_views
from tierscope.usecases.tco.scenario_documents import (
    EnduranceDocument,
    ExpanderDocument,
    FinanceDocument,
    FleetDocument,
    HostDocument,
    NumberLoss,
    OptionDocument,
    PowerDocument,
    PriceDocument,
    PricesDocument,
    RangeDocument,
    ScenarioDocument,
    SkuDocument,
)
from tierscope.usecases.tco.scenario_files import parse_scenario, read_scenario, write_scenario


@dataclass(frozen=True, slots=True)
class InputRange:
    """An input by its path in a scenario (`[]` = of each option), with its ends, step and unit."""

    path: str
    label: str
    lowest: float
    highest: float
    step: float
    unit: str


SLIDERS: tuple[InputRange, ...] = (
    InputRange("prices.dram.value", "DRAM", 1.0, 60.0, 0.5, "per GiB"),
    InputRange("prices.cxl_media.value", "Memory behind CXL", 0.0, 60.0, 0.5, "per GiB"),
    InputRange("prices.ddr4_reused.value", "Reused DDR4", 0.0, 20.0, 0.25, "per GiB"),
    InputRange("prices.cxl_controller.value", "CXL controller with board", 0.0, 2000.0, 25.0, "per device"),
    InputRange("prices.ssd.value", "SSD", 0.02, 1.0, 0.01, "per GB"),
    InputRange("prices.electricity.value", "Electricity", 0.02, 0.50, 0.01, "per kWh"),
    InputRange("power.dram_w_per_gb.value", "DRAM power", 0.0, 0.40, 0.01, "W per GiB"),
    InputRange("power.cxl_w_per_gb.value", "CXL media power", 0.0, 0.40, 0.01, "W per GiB"),
    InputRange("power.ddr4_w_per_gb.value", "Reused DDR4 power", 0.0, 0.40, 0.01, "W per GiB"),
    InputRange("power.controller_w.value", "CXL controller power", 0.0, 60.0, 1.0, "W per device"),
    InputRange("power.pue.value", "PUE", 1.0, 2.5, 0.01, "ratio"),
    InputRange("endurance.drive_writes_per_day.value", "Rated writes of a drive", 0.1, 30.0, 0.1, "drive sizes a day"),
    InputRange("endurance.drive_years.value", "Rated life of a drive", 1.0, 10.0, 1.0, "years"),
    InputRange("endurance.waf_ssd.value", "Write amplification, block SSD", 1.0, 8.0, 0.05, "ratio"),
    InputRange("endurance.waf_zns.value", "Write amplification, zoned SSD", 1.0, 3.0, 0.05, "ratio"),
    InputRange("endurance.waf_rated.value", "Write amplification of the rating", 1.0, 8.0, 0.05, "ratio"),
    InputRange("finance.life_years", "Life of a host", 1.0, 10.0, 0.5, "years"),
    InputRange("finance.discount_rate", "Discount rate", 0.0, 0.30, 0.005, "ratio"),
    InputRange("fleet.hosts", "Hosts", 1.0, 20_000.0, 1.0, "hosts"),
    InputRange("fleet.growth_per_year", "Growth of demand", -0.2, 1.0, 0.01, "ratio per year"),
    InputRange("fleet.years", "Years to look at", 1.0, 10.0, 1.0, "years"),
    InputRange("baseline.dram_gb", "DRAM", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].dram_gb", "DRAM", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].cxl.gb", "Memory behind CXL", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].cxl.devices", "CXL devices", 1.0, 16.0, 1.0, "devices"),
    InputRange("options[].ddr4_reused.gb", "Reused DDR4", 0.0, 8192.0, 32.0, "GiB"),
    InputRange("options[].ddr4_reused.devices", "CXL devices with DDR4", 1.0, 16.0, 1.0, "devices"),
    InputRange("options[].swap.gb", "Swap drive", 16.0, 32_000.0, 16.0, "GB"),
    InputRange("options[].swap.used_gb", "Memory on the swap drive", 0.0, 8192.0, 16.0, "GiB"),
    InputRange("options[].swap.swap_out_mb_per_s.value", "Swapped out", 0.0, 500.0, 1.0, "MB per s"),
    InputRange("options[].zswap.pool_gb", "Compressed pool", 0.0, 2048.0, 8.0, "GiB"),
    InputRange("options[].zswap.compression_ratio", "Compression", 1.0, 6.0, 0.1, "ratio"),
    InputRange("options[].zswap.cpu_ratio", "CPU for compression", 0.0, 0.2, 0.001, "ratio"),
    InputRange("options[].loss.value", "Lost throughput", 0.0, 0.5, 0.001, "ratio"),
)


MAX_SCENARIOS = 1000


@dataclass(frozen=True, slots=True)
class ScenarioItem:
    """A stored scenario in the list."""

    id: str
    name: str
    version: int
    currency: str
    options: Annotated[tuple[str, ...], Described("Names of its options.")]
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class StoredScenario:
    """A stored scenario; `yaml` is the file as written, or one that says the same."""

    id: str
    name: str
    version: Annotated[int, Described("Send it with a change: a change made from an older version is refused.")]
    spec: ScenarioDocument
    yaml: Annotated[str, Described("The file as it was written, or one that says the same.")]
    created_at: datetime
    created_by: str
    changed_at: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class ScenarioDefaults:
    """A complete scenario to start from, without a price of DRAM; what its inputs may be; prices to confirm."""

    spec: ScenarioDocument
    yaml: str
    ranges: tuple[InputRange, ...]
    dram_presets: tuple[Price, ...]


class Scenarios(ClockedUseCase):
    """Stored scenarios."""

    def list(self, *, limit: int, cursor: str | None) -> Page[ScenarioItem]:
        """Scenarios, newest first, without those that cannot be read: the status page tells of them.

        Raises:
            BadRequest: the cursor is none of ours.
        """
        before = None if cursor is None else int(decode_cursor(cursor, (int,))[0])
        with self._database.read() as session:
            rows = stored.list_scenarios(session, before=before, limit=limit + 1)
        more = encode_cursor(rows[limit - 1].id) if len(rows) > limit else None
        return Page(tuple(_item(row) for row in rows[:limit] if _has_outline(row.spec)), more)

    def show(self, scenario_id: str) -> StoredScenario:
        """One scenario.

        Raises:
            NotFound: no such scenario.
        """
        with self._database.read() as session:
            return _show(session, scenario_id)

    def create(
        self,
        *,
        name: str | None,
        spec: ScenarioDocument | None,
        yaml: str | None,
        actor: str,
        idempotency_key: str | None = None,
    ) -> StoredScenario:
        """Store a scenario, given as values or as a file. The same key with the same content stores it once.

        Raises:
            Unprocessable: neither or both are given, or the file cannot be read.
            Conflict: too many scenarios, or the key was used for something else.
            NotFound: what the key made is gone.
        """
        document = _given(spec, yaml)
        document = document if name is None else document.model_copy(update={"name": name})
        now = self._clock()
        public_id = "t" + secrets.token_hex(8)
        content = ["scenario", name, yaml, document.model_dump(mode="json")]
        values = {
            "public_id": public_id,
            "created_at": now,
            "created_by": actor,
            **_values(document, yaml if name in (None, document.name) else None, now=now, actor=actor),
        }
        with self._database.write() as transaction:
            before = made_before(transaction, actor=actor, key=idempotency_key, content=content)
            if before is not None:
                return _show(transaction, before)
            if len(stored.list_scenarios(transaction, before=None, limit=MAX_SCENARIOS)) >= MAX_SCENARIOS:
                raise Conflict(f"there are {MAX_SCENARIOS} scenarios", next_step="Delete those that are outdated.")
            stored.insert_scenario(transaction, values)
            _audit(transaction, now, actor, "scenario.create", public_id, document)
            note_made(transaction, actor=actor, key=idempotency_key, content=content, made=public_id)
            return _show(transaction, public_id)

    def change(
        self, scenario_id: str, *, version: int, spec: ScenarioDocument | None, yaml: str | None, actor: str
    ) -> StoredScenario:
        """Change a scenario that still has the version that the caller read.

        Raises:
            NotFound: no such scenario.
            Conflict: somebody changed it since.
            Unprocessable: neither or both of values and file are given, or the file cannot be read.
        """
        document = _given(spec, yaml)
        now = self._clock()
        with self._database.write() as transaction:
            before = stored.find_scenario(transaction, scenario_id)
            if before is None:
                raise _unknown(scenario_id)
            values = _values(document, yaml, now=now, actor=actor)
            row = stored.update_scenario(transaction, scenario_id, version, values)
            if row is None:
                raise Conflict(
                    f"the scenario has version {before.version} by now, changed by {before.changed_by};"
                    f" this change was made from version {version}",
                    next_step="Read it again and make the change there.",
                )
            _audit(transaction, now, actor, "scenario.change", scenario_id, document)
        return _view(row)

    def delete(self, scenario_id: str, *, actor: str) -> None:
        """Delete a scenario; the audit trail keeps what it said.

        Raises:
            NotFound: no such scenario.
        """
        with self._database.write() as transaction:
            gone = stored.delete_scenario(transaction, scenario_id)
            if gone is None:
                raise _unknown(scenario_id)
            append_audit(transaction, AuditRow(self._clock(), actor, "scenario.delete", scenario_id, gone.spec))


def starting_point() -> ScenarioDefaults:
    """A complete scenario, with its file."""
    spec = starting_scenario()
    return ScenarioDefaults(spec, write_scenario(spec), SLIDERS, preset_views("dram"))


def starting_scenario() -> ScenarioDocument:
    """Half the DRAM of a 1 TB host behind CXL, new and reused; all but DRAM's price."""
    return ScenarioDocument(
        name="Half of the DRAM behind CXL",
        description="Change what differs on your hosts, and confirm a price of DRAM.",
        skus=[SkuDocument(name="two sockets", price=10_000.0, watts=400.0)],
        baseline=HostDocument(name="all DRAM", sku="two sockets", dram_gb=1024.0),
        options=[
            OptionDocument(
                name="CXL, new memory",
                sku="two sockets",
                dram_gb=512.0,
                cxl=ExpanderDocument(gb=512.0, devices=2),
                loss=NumberLoss(value=0.01, low=0.0, high=0.05),
            ),
            OptionDocument(
                name="CXL, reused DDR4",
                sku="two sockets",
                dram_gb=512.0,
                ddr4_reused=ExpanderDocument(gb=512.0, devices=2),
                loss=NumberLoss(value=0.01, low=0.0, high=0.05),
            ),
        ],
        prices=PricesDocument(**{preset.item: _priced(preset) for preset in PRESETS if preset.item != "dram"}),
        power=PowerDocument(**_defaults(PowerDocument)),
        endurance=EnduranceDocument(**_defaults(EnduranceDocument)),
        finance=FinanceDocument(),
        fleet=FleetDocument(hosts=1000, growth_per_year=0.1, years=5),
    )


def _priced(preset: Preset) -> PriceDocument:
    price = preset.price
    return PriceDocument(
        value=price.value,
        low=price.low,
        high=price.high,
        source=preset.source,
        date=preset.date,
        currency=PRESET_CURRENCY,
    )


def _defaults(part: type[PowerDocument] | type[EnduranceDocument]) -> dict[str, RangeDocument]:
    """The defaults of a new scenario; what is modelled by its drives is left open."""
    return {
        default.name: RangeDocument(value=default.item.value, low=default.item.low, high=default.item.high)
        for default in DEFAULTS
        if default.name in part.model_fields and default.name not in MODELLED
    }


def _given(spec: ScenarioDocument | None, yaml: str | None) -> ScenarioDocument:
    if spec is not None and yaml is None:
        return spec
    if yaml is not None and spec is None:
        return read_scenario(yaml)
    raise Unprocessable("a scenario is given either as `spec` or as `yaml`")


def _values(document: ScenarioDocument, yaml: str | None, *, now: datetime, actor: str) -> dict[str, Any]:
    return {
        "name": document.name,
        "spec": document.model_dump(mode="json"),
        "yaml": yaml,
        "changed_at": now,
        "changed_by": actor,
    }


def _audit(
    transaction: WriteTransaction, now: datetime, actor: str, action: str, subject: str, document: ScenarioDocument
) -> None:
    append_audit(transaction, AuditRow(now, actor, action, subject, document.model_dump(mode="json")))


def _has_outline(spec: Any) -> bool:  # noqa: ANN401 - whatever the database holds
    """Whether a stored scenario has what a list shows of it; all of it is read where one is shown."""
    options = spec.get("options") if isinstance(spec, dict) else None
    return (
        isinstance(options, list)
        and "currency" in spec
        and all(isinstance(one, dict) and "name" in one for one in options)
    )


def _item(row: ScenarioRow) -> ScenarioItem:
    return copied(
        ScenarioItem,
        row,
        id=row.public_id,
        currency=str(row.spec["currency"]),
        options=tuple(str(option["name"]) for option in row.spec["options"]),
    )


def _view(row: ScenarioRow) -> StoredScenario:
    document = parse_scenario(row.spec)
    return copied(
        StoredScenario,
        row,
        id=row.public_id,
        spec=document,
        yaml=row.yaml if row.yaml is not None else write_scenario(document),
    )


def _show(session: ReadSession, scenario_id: str) -> StoredScenario:
    row = stored.find_scenario(session, scenario_id)
    if row is None:
        raise _unknown(scenario_id)
    return _view(row)


def _unknown(scenario_id: str) -> NotFound:
    return NotFound(f"there is no scenario {scenario_id[:80]!r}", next_step="List them with GET /v1/scenarios.")
