"""What the application loads when it starts: libraries that few requests need are loaded by those."""

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
_ASK = "import sys, json, tierscope.api.app; print(json.dumps(sorted(sys.modules)))"


def test_the_application_starts_without_libraries_that_few_requests_need() -> None:
    found = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, check=True, text=True, timeout=300)
    loaded = set(json.loads(found.stdout))
    assert "tierscope.usecases.capacity.reads" in loaded
    assert sorted(loaded & set(HEAVY)) == []
