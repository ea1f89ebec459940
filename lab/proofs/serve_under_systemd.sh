#!/bin/sh
# Runs where systemd is process 1 and the packages are installed: enables the units, waits until the service has what the
# agent sent, kills, stops. Prints statements, a line each: what held, a colon, what was seen.
set -eu
server=http://127.0.0.1:8480
fail() {
    systemctl --no-pager --lines 20 status 'tierscope*' >&2 || true
    journalctl --no-pager --lines 60 >&2 || true
    echo "$1" >&2
    exit 1
}
tries() {
    count=0
    until "$@" >/tmp/tried 2>&1; do
        count=$((count + 1))
        [ $count -lt 300 ] || { cat /tmp/tried >&2; fail "$*"; }
        sleep 1
    done
}
are_active() { systemctl is-active --quiet "$@"; }
ask() { /usr/lib/tierscope/bin/python -c 'import sys, urllib.request as r
print(r.urlopen(r.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]}), timeout=20).read().decode())' "$server$1" "${2:-}"; }
has_host() { ask /v1/hosts "$token" | grep -q '"last_seen": *"'; }
tries are_active postgresql redis-server
runuser -u postgres -- psql -qc "create role tierscope login" -c "create database tierscope owner tierscope"
cat >>/etc/tierscope/tierscope.toml <<TOML
database_url = "postgresql://tierscope@/tierscope?host=/var/run/postgresql"
redis_url = "redis://127.0.0.1:6379/0"
TOML
systemctl enable --now tierscope.target 2>/dev/null || fail "tierscope.target does not start"
tries ask /readyz
tries are_active tierscope-web tierscope-worker tierscope-beat
echo "tierscope.target starts the service: $(systemctl show --property Result --value tierscope-migrate), three units are active"
umask 0077
runuser -u tierscope -- tierscope token join --uses 1 >/etc/tierscope/join-token
token=$(runuser -u tierscope -- tierscope token api --role viewer)
sed -i "s|^#server = .*|server = \"$server\"\ninterval_seconds = 10|" /etc/tierscope/agent.toml
systemctl enable --now tierscope-agent 2>/dev/null || fail "tierscope-agent does not start"
tries has_host
echo "tierscope-agent.service sends: the host is listed, within CPUQuota and MemoryMax of its unit"
for unit in tierscope-worker tierscope-web tierscope-agent; do
    before=$(systemctl show --property MainPID --value $unit)
    systemctl kill --signal KILL $unit
    is_other() { now=$(systemctl show --property MainPID --value $unit); [ "$now" != 0 ] && [ "$now" != "$before" ]; }
    tries is_other
done
tries ask /readyz
echo "killed units start again: worker, web, agent"
systemctl disable --now tierscope-agent tierscope.target tierscope-web tierscope-worker tierscope-beat 2>/dev/null
left=$(pgrep -f '/usr/(lib/tierscope/)?bin/tierscope' || true)
[ -z "$left" ] || fail "left after systemctl disable --now: $left"
echo "systemctl disable --now ends all: no process is left"
