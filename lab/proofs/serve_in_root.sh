#!/bin/sh
# Runs in a bare root on which the packages are installed: database, queue, service and agent, until the service has
# what the agent sent. Prints the host. Its processes end with its namespace.
set -eu
server=http://127.0.0.1:8480
as_service() { setpriv --reuid tierscope --regid tierscope --init-groups --no-new-privs "$@"; }
tries() {
    count=0
    until "$@" >/tmp/tried 2>&1; do
        count=$((count + 1))
        [ $count -lt 240 ] || { cat /tmp/tried /tmp/*.log >&2; exit 1; }
        sleep 1
    done
}
version=$(ls /etc/postgresql)
pg_ctlcluster "$version" main start
setpriv --reuid postgres --regid postgres --init-groups psql -qc "create role tierscope login" -c "create database tierscope owner tierscope"
queue=$(command -v valkey-server || command -v redis-server)
"$queue" --daemonize yes --save "" >/dev/null
cat >>/etc/tierscope/tierscope.toml <<TOML
database_url = "postgresql://tierscope@/tierscope?host=/var/run/postgresql"
redis_url = "redis://127.0.0.1:6379/0"
TOML
install -d -m 0700 -o tierscope -g tierscope /var/lib/tierscope-service
as_service tierscope migrate --storage native >/tmp/migrate.log 2>&1 || { cat /tmp/migrate.log >&2; exit 1; }
as_service tierscope serve >/tmp/serve.log 2>&1 &
as_service tierscope worker --concurrency 1 >/tmp/worker.log 2>&1 &
as_service tierscope beat >/tmp/beat.log 2>&1 &
ask() { /usr/lib/tierscope/bin/python -c 'import sys, urllib.request as r
print(r.urlopen(r.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.argv[2]}), timeout=20).read().decode())' "$server$1" "${2:-}"; }
tries ask /readyz
umask 0077
as_service tierscope token join --uses 1 >/etc/tierscope/join-token
token=$(as_service tierscope token api --role viewer)
sed -i "s|^#server = .*|server = \"$server\"\ninterval_seconds = 10|" /etc/tierscope/agent.toml
tierscope-agent run --config /etc/tierscope/agent.toml --check-config >&2
tierscope-agent run --config /etc/tierscope/agent.toml >/tmp/agent.log 2>&1 &
has_host() { ask /v1/hosts "$token" | grep -q '"last_seen": *"'; }
tries has_host
ask /v1/hosts "$token"
tries as_service tierscope doctor --part workers --part schema --part queue
