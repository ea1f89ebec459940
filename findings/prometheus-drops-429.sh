#!/usr/bin/env bash
# Prometheus 2.42.0 (Debian 12): samples that remote write is answered 429 for are dropped, those of 503 are sent again.
# Guess: 429 Too Many Requests with Retry-After is the answer that makes a sender wait and repeat. It needs retry_on_http_429.
# Needs apt of Debian 12 and its registry, python3.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'kill ${sink:-} ${prometheus:-} 2>/dev/null || true; wait; rm -rf "$work"' EXIT

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

debian bookworm prometheus=2.42.0+ds-5+deb12u1
cat >"$work/sink.py" <<'EOF'
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(self.path.strip("/")))
        self.send_header("Retry-After", "1")
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *words): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
print(server.server_port, flush=True)
server.serve_forever()
EOF
python3 "$work/sink.py" >"$work/port" & sink=$!
until [ -s "$work/port" ]; do sleep 0.1; done
port=$(cat "$work/port")
own=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/prometheus.yml" <<EOF
global: {scrape_interval: 1s}
scrape_configs: [{job_name: self, static_configs: [{targets: ["127.0.0.1:$own"]}]}]
remote_write:
  - {name: answers-429, url: "http://127.0.0.1:$port/429"}
  - {name: answers-503, url: "http://127.0.0.1:$port/503"}
EOF
"$work/bookworm/root/usr/bin/prometheus" --version 2>&1 | head -1 | cut -d' ' -f 1-3
"$work/bookworm/root/usr/bin/prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" \
    --web.listen-address="127.0.0.1:$own" >"$work/log" 2>&1 & prometheus=$!
sleep 20
python3 - "$own" <<'EOF' || { echo "the behaviour has changed" >&2; exit 1; }
import re, sys, urllib.request
page = urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics").read().decode()
def told(metric, name):
    found = re.search(rf'^prometheus_remote_storage_{metric}{{remote_name="{name}".*}} (\S+)$', page, re.MULTILINE)
    return float(found[1])
for name in ("answers-429", "answers-503"):
    print(name, "dropped:", told("samples_failed_total", name), "sent again:", told("samples_retried_total", name))
assert told("samples_failed_total", "answers-429") > 0 and told("samples_retried_total", "answers-429") == 0
assert told("samples_failed_total", "answers-503") == 0 and told("samples_retried_total", "answers-503") > 0
EOF
