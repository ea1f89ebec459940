#!/usr/bin/env bash
# sos 4.0 (Debian 12): a report has /sys/devices/system/node, and neither memory tiers nor demotion_enabled.
# Guess: a report with the plugin memory holds what the kernel says of its memory tiers, so that absence means none.
# Needs root, apt of Debian 12 and its registry, python3, Linux 6.1 or later.
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

debian bookworm sosreport=4.0-2 python3-pexpect=4.8.0-4 python3-ptyprocess=0.7.0-5 python3-magic=2:0.4.26-3
root=$work/bookworm/root
export PYTHONPATH=$root/usr/lib/python3/dist-packages PYTHONWARNINGS=ignore
mkdir "$work/out"
/usr/bin/python3 "$root/usr/bin/sos" report --batch --quiet --tmp-dir "$work/out" --label finding -z gzip \
    --no-report --no-postproc -o memory,numa,kernel,process >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 1; }
tar -tf "$work"/out/*.tar.gz | cut -d/ -f 2- >"$work/names"
echo "sosreport 4.0-2, plugins memory, numa, kernel, process"
for path in sys/devices/system/node/node0/meminfo sys/devices/virtual/memory_tiering sys/kernel/mm/numa proc/uptime; do
    echo "$path: on the host $([ -e "/$path" ] && echo yes || echo no), in the report $(grep -c "^$path" "$work/names")"
done
grep -q "^sys/devices/system/node/node0/meminfo" "$work/names" && [ -e /sys/devices/virtual/memory_tiering ] &&
    ! grep -qE "^sys/(devices/virtual/memory_tiering|kernel/mm/numa)" "$work/names" ||
    { echo "the behaviour has changed" >&2; exit 1; }
