#!/usr/bin/env bash
# Performance Co-Pilot 6.0.3 (Debian 12): mem.vmstat.workingset_refault has no value on a kernel that counts refaults.
# Guess: mem.vmstat has the lines of /proc/vmstat. It has a list of its own, with the one counter of kernels before 5.9.
# Needs apt of Debian 12 (amd64), and Linux 5.9 or later; nothing is installed.
set -euo pipefail
export LC_ALL=C
version=6.0.3-1.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -qq download pcp="$version" pcp-conf="$version" libpcp3="$version" libpcp-pmda3="$version" 2>/dev/null) ||
    { echo "no packages of pcp $version here" >&2; exit 2; }
for package in "$folder"/*.deb; do dpkg -x "$package" "$folder/root"; done
export PCP_DIR=$folder/root PCP_CONF=$folder/root/etc/pcp.conf LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu
# Names come from a file of the package: those of an installed one are put together by its scripts.
ask() { "$folder/root/usr/bin/pminfo" -n "$folder/root/var/lib/pcp/pmns/root_linux" -L "$@"; }
"$folder/root/usr/bin/pminfo" --version 2>&1
names=$(ask mem.vmstat | sed 's/^mem\.vmstat\.//' | sort)
lines=$(cut -d ' ' -f 1 /proc/vmstat | sort)
echo "/proc/vmstat: $(grep -c . <<<"$lines") lines, of which mem.vmstat has $(comm -12 <(echo "$names") <(echo "$lines") | grep -c .)"
grep '^workingset_refault' /proc/vmstat
told=$(ask -f mem.vmstat.workingset_refault mem.vmstat.pgpgin)
echo "$told"
grep -q '^workingset_refault_file ' /proc/vmstat && grep -A 1 'workingset_refault$' <<<"$told" | grep -q 'No value' &&
    grep -q '^ *value [0-9]' <<<"$told" && ! grep -qx workingset_refault_file <<<"$names" ||
    { echo "the behaviour has changed" >&2; exit 1; }
