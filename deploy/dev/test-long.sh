#!/usr/bin/env bash
# The long cases of the Python tests, which `make test` leaves to this. Continuous integration runs both.
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=.build/logs
mkdir -p "$logs"
rm -f "$logs"/long.{log,jsonl}
[ -e "$logs/suites" ] && sed -i '/^long /d' "$logs/suites"
from=$SECONDS outcome=passed
.venv/bin/python -m pytest --long -n "${PYTEST_PROCESSES:-3}" --dist loadscope --failures="$logs/long.jsonl" "$@" 2>&1 |
    tee "$logs/long.log" || outcome=FAILED
echo "long $outcome $((SECONDS - from))" >>"$logs/suites"
# Some of them, where arguments select, are not all.
[ $# -gt 0 ] || .venv/bin/python lab/workshop/floors.py "$logs" --long || outcome=FAILED
[ $outcome = passed ]
