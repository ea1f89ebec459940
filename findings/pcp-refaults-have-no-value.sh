#!/usr/bin/env bash
# Performance Co-Pilot 6.0.3 (Debian 12): mem.vmstat.workingset_refault has no value on a kernel that counts refaults.
# Guess: mem.vmstat has the lines of /proc/vmstat. It has a list of its own, with the one counter of kernels before 5.9.
# Needs the package pcp of Debian 12, installed and configured, and Linux 5.9 or later.
set -euo pipefail
export LC_ALL=C
command -v pminfo >/dev/null || { echo "install pcp" >&2; exit 2; }
pminfo --version 2>&1
names=$(pminfo -L mem.vmstat | sed 's/^mem\.vmstat\.//' | sort)
lines=$(cut -d ' ' -f 1 /proc/vmstat | sort)
echo "/proc/vmstat: $(grep -c . <<<"$lines") lines, of which mem.vmstat has $(comm -12 <(echo "$names") <(echo "$lines") | grep -c .)"
grep '^workingset_refault' /proc/vmstat
told=$(pminfo -L -f mem.vmstat.workingset_refault)
echo "$told"
grep -q '^workingset_refault_file ' /proc/vmstat && grep -q 'No value' <<<"$told" && ! grep -qx workingset_refault_file <<<"$names" ||
    { echo "the behaviour has changed" >&2; exit 1; }
