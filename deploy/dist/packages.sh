#!/usr/bin/env bash
# Packs .deb and .rpm: the agent, and the service for each Python that a supported distribution has; and the agent's
# tarball. All of them carry what the wheels carry. packages.sh [agent|deb12|deb13|el]...: the agent, or the service for
# that one, alone.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
# 2.48.0 needs modules that the Go proxy refuses.
need_go_tool github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0
packages=$OUT/packages
rm -rf "$packages" "$OUT/sbom"
mkdir -p "$packages"
case $MACHINE in
    x86_64) ARCH=amd64 ;;
    aarch64) ARCH=arm64 ;;
    *) die "there are no packages for $MACHINE" "build on x86_64 or aarch64" ;;
esac
export ARCH VERSION STAGE

# nfpm itself replaces variables in some fields only.
fill='import os, pathlib, string, sys; print(string.Template(pathlib.Path(sys.argv[1]).read_text()).substitute(os.environ))'
pack() {
    .venv/bin/python -c "$fill" "deploy/packages/$1.yaml" >"$STAGE/$1.yaml"
    nfpm package --config "$STAGE/$1.yaml" --packager "$2" --target "$packages" | grep -v '^using'
}

# list_carried NAME DIRECTORY: SBOM and licences of others also lie beside the packages.
list_carried() {
    install -D -m 0644 "$2/sbom.cdx.json" "$OUT/sbom/tierscope-$1-$VERSION.cdx.json"
    install -D -m 0644 "$2/third-party-licences.txt" "$OUT/sbom/tierscope-$1-$VERSION-licences.txt"
}

pack_agent() {
    local unpacked=$STAGE/agent
    rm -rf "$unpacked"
    mkdir -p "$unpacked"
    .venv/bin/python -m zipfile -e "$OUT"/wheels/tierscope_agent-*.whl "$unpacked"
    export AGENT=$STAGE/tierscope-agent
    install -m 0755 "$unpacked"/*.data/scripts/tierscope-agent "$AGENT"
    sed 's|/usr/local/bin/|/usr/bin/|' deploy/systemd/tierscope-agent.service >"$STAGE/tierscope-agent.service"
    .venv/bin/python deploy/sbom/carried.py agent "$STAGE/carried"
    list_carried agent "$STAGE/carried"
    pack agent deb
    pack agent rpm
}

pack_tarball() {
    local top=tierscope-agent-$VERSION-linux-$MACHINE
    local tree=$STAGE/$top
    rm -rf "$tree"
    install -D -m 0755 "$AGENT" "$tree/bin/tierscope-agent"
    install -D -m 0644 -t "$tree" LICENSE deploy/packages/agent.toml deploy/systemd/tierscope-agent.service docs/operating/agent.md
    install -D -m 0644 -t "$tree" "$STAGE"/carried/*
    install -D -m 0644 -t "$tree/drop-ins" deploy/systemd/drop-ins/*.conf
    tar --create --sort name --mtime "@$SOURCE_DATE_EPOCH" --owner 0 --group 0 --numeric-owner \
        --directory "$STAGE" "$top" | gzip --no-name -9 >"$packages/$top.tar.gz"
    echo "created package: $packages/$top.tar.gz"
}

wanted=" ${*:-agent deb12 deb13 el} "
if [[ $wanted == *" agent "* ]]; then
    pack_agent
    pack_tarball
fi
# Debian 12 and 13; Enterprise Linux 9 and 10.
for release in deb:deb12:3.11 deb:deb13:3.13 rpm:el:3.12; do
    IFS=: read -r packager DISTRIBUTION PYTHON <<<"$release"
    [[ $wanted == *" $DISTRIBUTION "* ]] || continue
    export DISTRIBUTION PYTHON
    deploy/dist/stage.sh "$PYTHON" >/dev/null
    list_carried "service+$DISTRIBUTION" "$STAGE/$PYTHON/usr/lib/tierscope"
    pack service "$packager"
done
