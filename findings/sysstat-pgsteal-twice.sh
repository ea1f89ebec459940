#!/usr/bin/env bash
# sysstat 12.6.1 (Debian 12): pgsteal counts each reclaimed page twice, pgscand counts tasks as pages.
# Guess: pgsteal/s is the number of pages reclaimed a second, pgscand/s that of pages scanned in direct reclaim.
# Needs root, apt of Debian 12 and its registry.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

debian() { # SUITE PACKAGE=VERSION...: unpacks packages of a Debian release into $work/SUITE/root
    local suite=$1 at=$work/$1 uri
    shift
    uri=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' 'Created-By: Packages' |
        awk '$2 == "Debian" && $3 == "Debian" {print $1; exit}')
    mkdir -p "$at/lists/partial" "$at/cache/archives/partial" "$at/root"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" >"$at/sources.list"
    local options=(-qq -o Dir::Etc::SourceList="$at/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::Lists="$at/lists" -o Dir::Cache="$at/cache" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    (cd "$at" && apt-get "${options[@]}" download "$@")
    for package in "$at"/*.deb; do dpkg -x "$package" "$at/root"; done
}

record() { # SADC FILE BEFORE AFTER: three readings a second apart; /proc/vmstat changes after the first, for it alone
    unshare --mount bash -c '
        cp "$3" "$2.now"
        mount --bind "$2.now" /proc/vmstat
        (sleep 1.5; cat "$4" >"$2.now") &
        "$1" 1 3 "$2"; wait' _ "$@"
}

vmstat() { # SCANNED RECLAIMED THROTTLED: lines as Linux 5.9 and later print them, those of reclaim whole
    printf '%s\n' "pgpgin 10" "pgpgout 10" "pgfree 9000" "pgfault 8000" "pgmajfault 10" \
        "pgsteal_kswapd $2" "pgsteal_direct 0" "pgsteal_khugepaged 0" "pgscan_kswapd $1" "pgscan_direct 0" \
        "pgscan_khugepaged 0" "pgscan_direct_throttle $3" "pgscan_anon $1" "pgscan_file 0" "pgsteal_anon $2" \
        "pgsteal_file 0" "pswpin 0" "pswpout 0"
}
debian bookworm sysstat=12.6.1-1
root=$work/bookworm/root
vmstat 0 0 0 >"$work/before"
vmstat 1000 400 5 >"$work/after"
record "$root/usr/lib/sysstat/sadc" "$work/sa" "$work/before" "$work/after"
"$root/usr/bin/sadf" -V | head -1
echo "the kernel counted: 1000 pages scanned by kswapd, 400 reclaimed, 5 tasks throttled, none scanned directly"
"$root/usr/bin/sadf" -r -U "$work/sa" -- -B | tee "$work/printed" | cut -d';' -f 17-
grep -q 'pgscand/s; 0; 5; pgsteal/s; 0; 800;' "$work/printed" || { echo "the behaviour has changed" >&2; exit 1; }
echo "sysstat says: 800 pages reclaimed, 5 pages scanned directly"
