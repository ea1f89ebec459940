#!/usr/bin/env bash
# vmagent 1.79.5 (Debian 12): a block that remote write answers 413 or 422 for is sent again, and nothing behind it goes.
# Guess: a sender drops what it gets a 4xx for, as Prometheus does and the specification of remote write asks (429 aside).
# vmagent drops what is answered 400 or 409, and no other.
# Needs apt of Debian 12 and its registry, python3.
set -euo pipefail
export LC_ALL=C
work=$(mktemp -d)
trap 'kill ${sink:-} ${vmagent:-} 2>/dev/null || true; wait; rm -rf "$work"' EXIT

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

debian bookworm victoria-metrics=1.79.5+ds1-2+b5
cat >"$work/sink.py" <<'EOF'
import hashlib, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, status, text=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_GET(self):
        self.answer(200, b"pgpromote_success 5\n")
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        print(self.path.strip("/"), hashlib.sha256(body).hexdigest()[:8], file=sys.stderr, flush=True)
        self.answer(int(self.path.strip("/")))
    def log_message(self, *words): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
print(server.server_port, flush=True)
server.serve_forever()
EOF
python3 "$work/sink.py" >"$work/port" 2>"$work/seen" & sink=$!
until [ -s "$work/port" ]; do sleep 0.1; done
port=$(cat "$work/port")
own=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$work/scrape.yml" <<EOF
global: {scrape_interval: 1s}
scrape_configs: [{job_name: self, static_configs: [{targets: ["127.0.0.1:$port"]}]}]
EOF
urls=()
for status in 400 413 422 503; do urls+=("-remoteWrite.url=http://127.0.0.1:$port/$status"); done
basename "$work"/bookworm/victoria-metrics_*.deb
"$work/bookworm/root/usr/bin/vmagent" -promscrape.config="$work/scrape.yml" -httpListenAddr="127.0.0.1:$own" \
    -remoteWrite.tmpDataPath="$work/data" -remoteWrite.queues=1 "${urls[@]}" >"$work/log" 2>&1 & vmagent=$!
sleep 20
python3 - "$work/seen" <<'EOF' || { echo "the behaviour has changed" >&2; exit 1; }
import sys
seen = [line.split() for line in open(sys.argv[1])]
for status in ("400", "413", "422", "503"):
    blocks = [block for own, block in seen if own == status]
    print(status, "requests:", len(blocks), "different blocks:", len(set(blocks)))
    assert len(blocks) > 1 and len(set(blocks)) == (len(blocks) if status == "400" else 1)
EOF
