#!/usr/bin/env bash
# collectl 4.3.1: of /proc/vmstat it records promotions and demotions, no line numa_*, and nothing from pgrefill on;
# of a node's meminfo all but the first line, which is MemTotal.
# Guess: `-sm` records /proc/vmstat. Pages that reclaim takes are in it with `--memopts ps` alone.
# Needs Debian 12 with apt and Perl, and Linux 6.8 or later.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get download -q collectl=4.3.1-1 >/dev/null 2>&1 && dpkg -x collectl_*.deb root)
record() {
    (cd "$work/root" && perl -I usr/share/collectl usr/bin/collectl "$@" -i1 -c 2 -f "$work/${*: -1}" >/dev/null 2>&1)
    zcat "$work/${*: -1}"*.raw.gz
}
plain=$(record -sm) more=$(record -sM --memopts ps)
count() { grep -c "^$2" <<<"$1" || true; }
echo "collectl 4.3.1 -sm: $(count "$plain" 'pgpromote_success ') moments with pgpromote_success," \
    "$(count "$plain" numa_) lines numa_*, $(count "$plain" pgsteal) lines pgsteal*; /proc/vmstat has" \
    "$(grep -c '^numa_' /proc/vmstat) and $(grep -c '^pgsteal' /proc/vmstat)"
echo "-sM: $(count "$more" 'numai Node 0 MemFree:') moments with MemFree of node 0, $(count "$more" 'numai Node 0 MemTotal:') with MemTotal"
[ "$(count "$plain" 'pgpromote_success ')" != 0 ] && [ "$(count "$plain" pgsteal)" = 0 ] && [ "$(count "$plain" numa_)" = 0 ] &&
    [ "$(count "$more" 'numai Node 0 MemFree:')" != 0 ] && [ "$(count "$more" 'numai Node 0 MemTotal:')" = 0 ] ||
    { echo "the behaviour has changed" >&2; exit 1; }
