"""What programs load when they start: libraries that few requests and commands need are loaded by those."""

import json
import subprocess
import sys

HEAVY = (
    "boto3",
    "celery",
    "pandas",
    "pyarrow",
    "reportlab",
    "ruptures",
    "scipy.cluster",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.stats",
    "statsmodels",
    "xlsxwriter",
)
_ASK = "import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"


def loaded_with(module: str) -> set[str]:
    """All modules that a new process has once it has loaded one."""
    ask = _ASK.format(module=module)
    found = subprocess.run([sys.executable, "-c", ask], capture_output=True, check=True, text=True, timeout=300)
    return set(json.loads(found.stdout))


def test_the_application_starts_without_libraries_that_few_requests_need() -> None:
    loaded = loaded_with("tierscope.api.app")
    assert "tierscope.usecases.capacity.reads" in loaded
    assert sorted(loaded & set(HEAVY)) == []


def test_a_worker_starts_without_what_sends_metrics_to_a_collector() -> None:
    loaded = loaded_with("tierscope.worker.app, tierscope.worker.push, tierscope.worker.telemetry")
    assert "tierscope.worker.push" in loaded
    assert sorted(name for name in loaded if name.startswith(("opentelemetry.proto", "opentelemetry.sdk"))) == []


def test_commands_start_without_the_application_and_its_analyses() -> None:
    loaded = loaded_with("tierscope.cli.main")
    assert "tierscope.cli.instance.status" in loaded
    assert sorted(loaded & {*HEAVY, "alembic", "fastapi", "httpx", "lark", "scipy.special"}) == []
