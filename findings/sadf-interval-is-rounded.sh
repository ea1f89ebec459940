#!/usr/bin/env bash
# sysstat 12.6.1 (Debian 12): rates of sadf -j times its interval are not what was counted.
# Guess: rate times interval is the difference of the counter, to the digits printed. The interval is rounded, the rate not.
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

debian bookworm sysstat=12.6.1-1
root=$work/bookworm/root
vmstat() { printf '%s\n' "pgpgin 10" "pgpgout 10" "pgfree 9000" "pgfault $1" "pgmajfault 10" "pswpin 0" "pswpout 0"; }
vmstat 0 >"$work/before"
vmstat 100000 >"$work/after"
# Uptime, from which sysstat takes the interval, passes by 1.49 s between two readings.
unshare --mount bash -c '
    cp "$3" "$2.now"; echo "1000.00 0.00" >"$2.uptime"
    mount --bind "$2.now" /proc/vmstat; mount --bind "$2.uptime" /proc/uptime
    (sleep 0.5; cat "$4" >"$2.now"; echo "1001.49 0.00" >"$2.uptime") &
    "$1" 1 2 "$2"; wait' _ "$root/usr/lib/sysstat/sadc" "$work/sa" "$work/before" "$work/after"
"$root/usr/bin/sadf" -V | head -1
"$root/usr/bin/sadf" -j "$work/sa" -- -B | tee "$work/printed" | grep -oE '"interval": [0-9]+|"fault": [0-9.]+'
"$root/usr/bin/sadf" -r "$work/sa" -- -B | grep -o 'fault/s; [0-9]*; [0-9]*'
grep -q '"interval": 1}' "$work/printed" && grep -q '"fault": 67114.09' "$work/printed" ||
    { echo "the behaviour has changed" >&2; exit 1; }
echo "100000 faults: the rate is 67114.09 a second, the interval 1 s"
