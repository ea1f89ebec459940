"""Stored scenarios of cost."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.figures import MAX_COUNT, Model
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.tco.presets import ScenarioPresetReads, ScenarioPresets
from tierscope.usecases.tco.scenario_documents import ScenarioDocument
from tierscope.usecases.tco.scenarios import ScenarioDefaults, ScenarioItem, Scenarios, StoredScenario, starting_point


class NewScenario(Model):
    """A scenario to store: `spec`, or `yaml`. `name`, where given, replaces the one inside."""

    name: str | None = Field(default=None, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
    spec: ScenarioDocument | None = None
    yaml: str | None = Field(default=None, max_length=200_000)


class ScenarioChange(Model):
    """A change: the version that was read, and `spec` or `yaml` as they are to be."""

    version: int = Field(ge=1, le=MAX_COUNT)
    spec: ScenarioDocument | None = None
    yaml: str | None = Field(default=None, max_length=200_000)


router = APIRouter(prefix="/v1/scenarios", tags=["tco"])

Store = Annotated[Scenarios, Depends(use(lambda held: held.scenarios))]
Presets = Annotated[ScenarioPresetReads, Depends(use(lambda held: held.scenario_presets))]
Writer = Annotated[Caller, Depends(requires("write:scenarios"))]
_READ = [Depends(requires("read:fleet"))]


@router.get("", dependencies=_READ, summary="Scenarios, newest first")
@tabular("items")
def list_scenarios(
    request: Request, store: Store, limit: Limit = 100, cursor: Cursor = None
) -> Answer[Page[ScenarioItem]]:
    """List stored scenarios."""
    return answer(request, Page[ScenarioItem], store.list(limit=limit, cursor=cursor))


@router.get("/defaults", dependencies=_READ, summary="A scenario to start from")
def read_defaults(request: Request) -> Answer[ScenarioDefaults]:
    """A complete scenario with published defaults, and the ranges of its inputs."""
    return answer(request, ScenarioDefaults, starting_point())


@router.get("/presets", dependencies=[*_READ, COSTLY], summary="Scenarios filled in from the fleet")
def read_presets(
    request: Request,
    reads: Presets,
    service: Annotated[str | None, Query(max_length=200, description="Service id; left out: the fleet.")] = None,
    dram_ratio: Annotated[
        float | None, Query(gt=0, le=1, description="DRAM's share of the memory, in place of the advised one.")
    ] = None,
) -> Answer[ScenarioPresets]:
    """Hosts of today against the same memory in DRAM, with CXL at the advised ratio, and with reused DDR4 behind CXL.

    Host count and memory are those of the inventories; the loss of throughput is from ratio advice. The price of DRAM
    is left out, as in the defaults.
    """
    return answer(request, ScenarioPresets, reads.read(service, dram_ratio=dram_ratio))


@router.get("/schema", dependencies=_READ, summary="JSON schema of scenario files")
def read_schema() -> dict[str, Any]:
    """The schema that editors check scenario files against."""
    return ScenarioDocument.model_json_schema()


@router.post("", status_code=201, summary="Store a scenario")
def create_scenario(
    store: Store,
    body: NewScenario,
    caller: Writer,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> StoredScenario:
    """Store a scenario; the same Idempotency-Key with the same body stores it once.

    A file that cannot be read answers 422 with the path of every fault.
    """
    return store.create(
        name=body.name, spec=body.spec, yaml=body.yaml, actor=caller.name, idempotency_key=idempotency_key
    )


@router.get("/{scenario_id}", dependencies=_READ, summary="One scenario")
def read_scenario(request: Request, store: Store, scenario_id: str) -> Answer[StoredScenario]:
    """One scenario as values and as a file."""
    return answer(request, StoredScenario, store.show(scenario_id))


@router.put("/{scenario_id}", summary="Change a scenario")
def change_scenario(store: Store, scenario_id: str, body: ScenarioChange, caller: Writer) -> StoredScenario:
    """Replace a scenario. 409 where somebody changed it since it was read."""
    return store.change(scenario_id, version=body.version, spec=body.spec, yaml=body.yaml, actor=caller.name)


@router.delete("/{scenario_id}", status_code=204, summary="Delete a scenario")
def delete_scenario(store: Store, scenario_id: str, caller: Writer) -> None:
    """Delete a scenario; the audit trail keeps what it said."""
    store.delete(scenario_id, actor=caller.name)
