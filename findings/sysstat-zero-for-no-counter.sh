#!/usr/bin/env bash
# sysstat 12.7.5 (Debian 13): pgprom and pgdem are 0.00 on a kernel that does not count them.
# Guess: a column of a counter that the kernel does not have is left out, or null, as JSON can say.
# Needs root, apt of Debian and its registry.
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

debian trixie sysstat=12.7.5-2
root=$work/trixie/root
printf '%s\n' "pgpgin 10" "pgpgout 10" "pgfree 9000" "pgfault 8000" "pgmajfault 10" "pswpin 0" "pswpout 0" >"$work/vmstat"
record "$root/usr/libexec/sysstat/sadc" "$work/sa" "$work/vmstat" "$work/vmstat"
"$root/usr/bin/sadf" -V | head -1
echo "the kernel has no line pgpromote_success and no line pgdemote_*:"
"$root/usr/bin/sadf" -j "$work/sa" -- -B | grep -o '"pgprom.*}' | tee "$work/printed"
grep -q '"pgprom": 0.00, "pgdem": 0.00' "$work/printed" || { echo "the behaviour has changed" >&2; exit 1; }
