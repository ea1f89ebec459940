#!/usr/bin/env bash
# numactl 2.0.16 (Debian 12): numastat -m prints warnings of the kernel's newer lines on standard output.
# Guess: a warning goes to standard error, so that standard output is the table. Its status is 0.
# Needs apt of Debian 12 and its registry, Linux 6.1 or later.
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

debian bookworm numactl=2.0.16-1 libnuma1=2.0.16-1
root=$work/bookworm/root
export LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu
echo "numactl 2.0.16-1"
"$root/usr/bin/numastat" -m >"$work/out" 2>"$work/err" && echo "status 0, $(wc -c <"$work/err") bytes on stderr"
grep 'not in hash table' "$work/out" || { echo "the behaviour has changed" >&2; exit 1; }
