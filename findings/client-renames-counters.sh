#!/usr/bin/env bash
# prometheus_client 0.23.1: its parser puts _total behind the name of every counter that has none.
# Guess: a parser gives the names that stand in the text, so that they match what Prometheus stores of the same page.
# Needs python3 with venv and PyPI.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/env"
"$work/env/bin/pip" install -q --disable-pip-version-check prometheus_client==0.23.1
echo "prometheus_client 0.23.1"
"$work/env/bin/python" - <<'EOF' || { echo "the behaviour has changed" >&2; exit 1; }
from prometheus_client.parser import text_string_to_metric_families
# As pmproxy of Performance Co-Pilot prints a counter of /proc/vmstat.
page = "# TYPE mem_vmstat_pgpromote_success counter\nmem_vmstat_pgpromote_success{hostname=\"db1\"} 700\n"
(family,) = text_string_to_metric_families(page)
print("printed: mem_vmstat_pgpromote_success, parsed:", family.samples[0].name)
assert family.samples[0].name == "mem_vmstat_pgpromote_success_total"
EOF
