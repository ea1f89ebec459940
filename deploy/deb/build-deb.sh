#!/usr/bin/env bash
# Packs the agent for Debian and its kin: build-deb.sh [--binary PROGRAM] [--output DIRECTORY].
# Without --binary the program is compiled first (deploy/dev/build-agent.sh). Prints the path of the package.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=
output=.build/packages
while [ $# -gt 0 ]; do
    case "$1" in
        --binary) binary=$2 ;;
        --output) output=$2 ;;
        *) echo "unknown option $1: use --binary PROGRAM, --output DIRECTORY" >&2; exit 2 ;;
    esac
    shift 2
done
if ! command -v dpkg-deb >/dev/null; then
    echo "dpkg-deb is missing: install the package dpkg" >&2
    exit 1
fi
if [ -z "$binary" ]; then
    deploy/dev/build-agent.sh >&2
    binary=$(deploy/dev/build-agent.sh --print-path)
fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' collector-agent/Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
depends=
# A program that is linked against the C library needs one of the build host's age or younger.
if command -v readelf >/dev/null && readelf --program-headers "$binary" 2>/dev/null | grep -q INTERP; then
    depends="Depends: libc6 (>= $(ldd --version | sed -n '1s/.* //p'))"
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 0755 "$stage"
install -D -m 0755 "$binary" "$stage/usr/bin/tierscope-agent"
install -D -m 0640 deploy/deb/agent.toml "$stage/etc/tierscope/agent.toml"
install -d "$stage/usr/lib/systemd/system" "$stage/usr/share/doc/tierscope-agent/drop-ins" "$stage/DEBIAN"
sed 's|/usr/local/bin/|/usr/bin/|' deploy/systemd/tierscope-agent.service \
    >"$stage/usr/lib/systemd/system/tierscope-agent.service"
install -m 0644 deploy/systemd/drop-ins/*.conf "$stage/usr/share/doc/tierscope-agent/drop-ins/"
install -m 0644 deploy/deb/copyright docs/operating/agent.md "$stage/usr/share/doc/tierscope-agent/"
install -m 0755 deploy/deb/maintainer/* "$stage/DEBIAN/"
echo /etc/tierscope/agent.toml >"$stage/DEBIAN/conffiles"
cat >"$stage/DEBIAN/control" <<CONTROL
Package: tierscope-agent
Version: $version
Architecture: $architecture
Maintainer: Tierscope maintainers <maintainers@tierscope.dev>
Section: admin
Priority: optional
Homepage: https://tierscope.dev
Installed-Size: $(du --apparent-size -sk "$stage" | cut -f 1)
${depends:+$depends
}Description: measures memory tiers of this host
 Reads counters of the kernel, measures which pages of the listed processes are
 hot, and sends both to a Tierscope service. Nothing is measured or sent before
 /etc/tierscope/agent.toml names a service.
CONTROL
find "$stage" -type d -exec chmod 0755 {} +
mkdir -p "$output"
package="$output/tierscope-agent_${version}_${architecture}.deb"
dpkg-deb --root-owner-group -Zxz --build "$stage" "$package" >&2
echo "$package"
