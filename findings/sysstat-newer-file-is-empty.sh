#!/usr/bin/env bash
# sysstat 12.6.1 (Debian 12): a file of 12.7.5 (Debian 13) has no statistics for it, and the status is 0.
# Guess: a reader refuses the file of a later version, or prints the columns that it knows: both carry one format, 0x2175.
# Needs apt of Debian 12 and its registry.
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

debian bookworm sysstat=12.6.1-1
debian trixie sysstat=12.7.5-2
old=$work/bookworm/root/usr/bin/sadf new=$work/trixie/root/usr/bin/sadf
"$work/trixie/root/usr/libexec/sysstat/sadc" 1 3 "$work/sa"
paging() { "$1" -j "$work/sa" -- -B | grep -c '"paging"' || true; }
for sadf in "$new" "$old"; do
    "$sadf" -V | head -1
    "$sadf" -j "$work/sa" -- -B >/dev/null 2>"$work/err" && echo "status 0, $(wc -c <"$work/err") bytes on stderr"
    echo "intervals with paging: $(paging "$sadf")"
done
[ "$(paging "$new")" = 2 ] && [ "$(paging "$old")" = 0 ] || { echo "the behaviour has changed" >&2; exit 1; }
