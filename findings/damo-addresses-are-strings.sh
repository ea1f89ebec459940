#!/usr/bin/env bash
# damo 3.4.3: addresses in its JSON are strings with commas between thousands, beside counts that are numbers.
# Guess: json.load of a record gives numbers; int() of one that is a string works.
# Needs python3 with venv and PyPI.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/env"
"$work/env/bin/pip" install -q --disable-pip-version-check damo==3.4.3
for time in 10.100000 10.200000 10.300000; do
    echo "kdamond.0 77 [000] $time: damon:damon_aggregated: target_id=0 nr_regions=1 4294967296-4297064448: 3 12"
done >"$work/record.txt"
"$work/env/bin/damo" convert_record_format --record_file "$work/record.txt" --format json --output_file "$work/record.json"
echo "damo $("$work/env/bin/damo" version)"
grep -E '"(start|end|nr_accesses|age|samples)"' "$work/record.json" | sort -u | head -8
python3 - "$work/record.json" <<'EOF' || { echo "the behaviour has changed" >&2; exit 1; }
import json, sys
def values(node):
    if isinstance(node, dict):
        for name, value in node.items():
            yield name, value
            yield from values(value)
    elif isinstance(node, list):
        for value in node:
            yield from values(value)
found = list(values(json.load(open(sys.argv[1]))))
assert ("start", "4,294,967,296") in found and ("end", "4,297,064,448") in found, found
EOF
