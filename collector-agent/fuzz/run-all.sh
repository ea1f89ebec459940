#!/usr/bin/env bash
# Fuzzes each parser for SECONDS_EACH seconds (300 unless given), or only those named, and says how each went.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${SECONDS_EACH:-300}
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' Cargo.toml)
status=0
for target in "${targets[@]}"; do
    mkdir -p "corpus/$target"
    log=corpus/$target.log
    if nice -n 15 cargo +nightly fuzz run -O "$target" "corpus/$target" "seeds/$target" -- \
        -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=25 -max_len=65536 -print_final_stats=1 >"$log" 2>&1; then
        echo "$target: no crash, $(sed -n 's/stat::number_of_executed_units: *//p' "$log") runs in $seconds s"
    else
        echo "$target: FAILED, see fuzz/$log"
        status=1
    fi
done
exit $status
