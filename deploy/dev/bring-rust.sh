#!/usr/bin/env bash
# Brings Rust and a C compiler from the distribution's packages into .build/rust, for machines that have none or too old
# ones. The Makefile looks there first. bring-rust.sh VERSION: the oldest that will do.
# Needs apt with its sources, and no root: packages are resolved against what the machine has, checked by the archive's
# signatures as always, and unpacked instead of installed. Debian 12 and 13 keep `rustc-web` as new as browsers need it.
set -euo pipefail
cd "$(dirname "$0")/../.."
wanted=$1
home=$PWD/.build/rust
root=$home/root
command -v apt-get >/dev/null || { echo "there is no apt-get" >&2; exit 1; }

rm -rf "$home"
mkdir -p "$home/bin" "$root" "$home/apt/lists/partial" "$home/apt/archives/partial"
settings=(-o "Dir::State::Lists=$home/apt/lists" -o "Dir::Cache=$home/apt" -o "Dir::Cache::Archives=$home/apt/archives"
    -o Debug::NoLocking=true -o APT::Sandbox::User=)
echo "Rust: none that is recent enough is installed; bringing it from the distribution (170 MB)" >&2
apt-get --quiet=2 "${settings[@]}" update >&2

candidate() {
    apt-cache "${settings[@]}" policy "$1" | sed -n 's/^ *Candidate: \([0-9.]*\).*/\1/p'
}
packages=()
for suffix in "" -web; do
    version=$(candidate "rustc$suffix")
    if [ -n "$version" ] && [ "$(printf '%s\n' "$wanted" "$version" | sort -V | head -n 1)" = "$wanted" ]; then
        packages=("rustc$suffix" "cargo$suffix")
        break
    fi
done
[ ${#packages[@]} -gt 0 ] || { echo "the distribution has no Rust $wanted or later" >&2; exit 1; }
apt-get --quiet=2 "${settings[@]}" --yes --download-only --no-install-recommends install "${packages[@]}" >/dev/null
for package in "$home"/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$root"
done
rm -rf "$home/apt"

# Linker scripts name files of their own package by the path that it would be installed at.
libraries=$root/usr/lib/$(uname -m)-linux-gnu
{ grep -l -I 'GNU ld script' "$libraries"/*.so 2>/dev/null || true; } | xargs -r sed -i "s| /usr/lib/| $root/usr/lib/|g"

# Each program finds its libraries, headers and helpers here; what the machine has already was not brought.
launch() {
    cat >"$home/bin/$1" <<LAUNCHER
#!/bin/sh
export LD_LIBRARY_PATH="$libraries:$root/lib/$(uname -m)-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export C_INCLUDE_PATH="$root/usr/include:$root/usr/include/$(uname -m)-linux-gnu"
export COMPILER_PATH="$root/usr/bin" LIBRARY_PATH="$libraries"
exec "$root/usr/bin/$2" "\$@"
LAUNCHER
    chmod +x "$home/bin/$1"
}
for tool in cargo rustc rustdoc gcc ar ranlib; do
    [ ! -e "$root/usr/bin/$tool" ] || launch "$tool" "$tool"
done
[ ! -e "$root/usr/bin/gcc" ] || launch cc gcc
echo "Rust: $("$home/bin/rustc" --version), linked by $(PATH="$home/bin:$PATH" cc --version | head -n 1)" >&2
