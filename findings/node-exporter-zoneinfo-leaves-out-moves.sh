#!/usr/bin/env bash
# node_exporter 1.12.1: --collector.zoneinfo leaves out promotions and demotions by node, which /proc/zoneinfo prints.
# Guess: what --collector.vmstat gives of the host, --collector.zoneinfo gives by node: all lines of the file.
# Needs Go and the Go module proxy.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'kill ${exporter:-} 2>/dev/null || true; wait; rm -rf "$work"' EXIT

go=$(command -v go || echo /usr/local/go/bin/go)
GOBIN=$work "$go" install github.com/prometheus/node_exporter@v1.12.1 2>"$work/log" || { cat "$work/log" >&2; exit 2; }
echo "node_exporter 1.12.1, built by $("$go" version)"
mkdir "$work/proc"
# As Linux 6.12 prints a node without CPUs.
cat >"$work/proc/zoneinfo" <<'END'
Node 1, zone   Normal
  per-node stats
      nr_inactive_anon 1000
      nr_active_anon 2000
      nr_dirtied   0
      nr_written   0
      pgpromote_success 301
      pgpromote_candidate 400
      pgdemote_kswapd 302
      pgdemote_direct 303
      pgdemote_khugepaged 304
  pages free     5000
        boost    0
        min      10
        low      20
        high     30
        promo    40
        spanned  9000
        present  9000
        managed  8000
        cma      0
        protection: (0, 0, 0, 0, 0)
      nr_free_pages 5000
      numa_hit     601
      numa_miss    0
      numa_foreign 0
      numa_interleave 0
      numa_local   0
      numa_other   601
END
port=$((20000 + $$ % 10000))
"$work/node_exporter" --path.procfs="$work/proc" --collector.disable-defaults --collector.zoneinfo \
    --web.listen-address="127.0.0.1:$port" 2>"$work/log" &
exporter=$!
for _ in $(seq 100); do
    python3 -c "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen('http://127.0.0.1:$port/metrics').read())" \
        >"$work/metrics" 2>/dev/null && break
    sleep 0.2
done
grep -E 'pgpromote|pgdemote|numa_hit' "$work/proc/zoneinfo" | sed 's/^ */the kernel: /'
grep -E '^node_zoneinfo_.*(pgpromote|pgdemote|promo|numa_hit|nr_free|high)' "$work/metrics" | sed 's/^/node_exporter: /'
grep -q '^node_zoneinfo_numa_hit_total{node="1",zone="Normal"} 601' "$work/metrics" &&
    ! grep -qE '^node_zoneinfo.*(pgpromote|pgdemote)' "$work/metrics" || { echo "the behaviour has changed" >&2; exit 1; }
