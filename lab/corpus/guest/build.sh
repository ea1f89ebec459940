#!/usr/bin/env bash
# Builds what boots a guest with two memory tiers, from Debian packages: an emulator, kernels, a small user space. Nothing
# is installed on this machine; all of it is unpacked below LAB. Its apt has lists and settings of its own there.
#
# build.sh LAB KERNEL...      KERNEL: 6.1, 6.12 or 7.2. A kernel that has no package here is named and left out.
set -euo pipefail
lab=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
suites="bookworm bookworm-backports trixie trixie-backports"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# The mirror that this machine uses.
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -n 1)
mkdir -p "$lab"/apt/lists/partial "$lab"/apt/archives/partial "$lab"/packages "$lab"/{emulator,tools,kernels,images}

: >"$lab/apt/preferences"
: >"$lab/apt/sources.list"
priority=500
for suite in $suites; do
    echo "deb [signed-by=$keyring] ${mirror%/} $suite main" >>"$lab/apt/sources.list"
    printf 'Package: *\nPin: release n=%s\nPin-Priority: %d\n\n' "$suite" "$priority" >>"$lab/apt/preferences"
    priority=$((priority - 100))
done
cat >"$lab/apt/apt.conf" <<END
Dir::Etc::sourcelist "$lab/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "$lab/apt/preferences";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$lab/apt/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$lab/apt";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
export APT_CONFIG=$lab/apt/apt.conf
if [ ! -e "$lab/apt/updated" ]; then
    apt-get -q update
    touch "$lab/apt/updated"
fi

# unpack TARGET PACKAGE[/SUITE]...: downloads packages, and unpacks them below TARGET.
unpack() {
    local target=$1
    shift
    rm -rf "$lab/packages/now"
    mkdir -p "$lab/packages/now"
    (cd "$lab/packages/now" && apt-get -q download "$@")
    for package in "$lab"/packages/now/*.deb; do dpkg -x "$package" "$target"; done
    rm -rf "$lab/packages/now"
}

if [ ! -x "$lab/emulator/usr/bin/qemu-system-x86_64" ]; then
    wanted=$(apt-get install --simulate --no-install-recommends --target-release bookworm-backports qemu-system-x86 |
        awk '/^Inst/ { print $2 (($2 ~ /^(qemu-|seabios)/) ? "/bookworm-backports" : "/bookworm") }')
    # shellcheck disable=SC2086 # a list of packages
    unpack "$lab/emulator" $wanted
fi

libraries=$lab/tools/usr/lib/x86_64-linux-gnu
if [ ! -x "$lab/tools/usr/bin/cxl" ]; then
    unpack "$lab/tools" {busybox-static,kmod,cxl,daxctl,ndctl,libc6,libdaxctl1,libcxl1,libndctl6,libkmod2,libuuid1,libjson-c5,libkeyutils1,libzstd1,liblzma5,libssl3t64,zlib1g,libudev1,libcap2,libtraceevent1,libtracefs1,libiniparser4}/trixie
fi
tool() { "$libraries/ld-linux-x86-64.so.2" --argv0 "$1" --library-path "$libraries" "$lab/tools/usr/bin/kmod" "${@:2}"; }

# newest PATTERN: the package of the highest version whose name matches.
newest() { apt-cache search --names-only "$1" | awk '{ print $1 }' | sort -V | tail -n 1; }

kernel_packages() {
    case $1 in
    6.1) newest '^linux-image-6\.1\.0-[0-9]+-amd64$' ;;
    6.12) newest '^linux-image-6\.12\.[0-9]+\+deb12-amd64$' ;;
    # An image is three packages from 7 on.
    *) newest "^linux-binary-${1//./\\.}\.[0-9]+\+deb13-amd64$" | sed 'p; s/binary/modules/p; s/modules/base/' ;;
    esac
}

pack_image() {
    local kernel=$1 root=$lab/kernels/$1/root release
    release=$(cat "$lab/kernels/$kernel/release")
    rm -rf "$root"
    mkdir -p "$root"/{bin,sbin,usr/bin,usr/lib/x86_64-linux-gnu,lib64,lib/modules/"$release",dev,proc,sys,tmp}
    cp "$lab/tools/usr/bin/busybox" "$root/bin/"
    cp "$here/init.sh" "$root/init"
    chmod 755 "$root/init"
    cp "$lab"/tools/usr/bin/{kmod,cxl,daxctl,ndctl} "$root/usr/bin/"
    ln -s kmod "$root/usr/bin/modprobe"
    ln -s /usr/bin/kmod "$root/sbin/modprobe"
    cp -L "$libraries"/*.so.* "$root/usr/lib/x86_64-linux-gnu/"
    cp -L "$libraries/ld-linux-x86-64.so.2" "$root/lib64/"
    cp -a "$lab/tools/etc" "$root/"
    for module in virtio_pci virtio_blk 9p 9pnet_virtio nfit dax_pmem device_dax kmem cxl_acpi cxl_pci cxl_port cxl_mem dax_cxl zram; do
        # What is built in has no file, and one that this kernel lacks is not needed by its layouts.
        tool modprobe -d "$lab/kernels/$kernel" -S "$release" --show-depends "$module" 2>/dev/null || true
    done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r file; do
        place=$root/lib/modules/$release/${file#*/lib/modules/"$release"/}
        mkdir -p "$(dirname "$place")"
        cp "$file" "$place"
    done
    cp "$lab/kernels/$kernel/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$root/lib/modules/$release/"
    tool depmod -b "$root" "$release"
    (cd "$root" && find . | "$lab/tools/usr/bin/busybox" cpio -o -H newc 2>/dev/null | gzip -1) >"$lab/images/$kernel.gz.part"
    mv "$lab/images/$kernel.gz.part" "$lab/images/$kernel.gz"
    rm -rf "$root"
}

for kernel; do
    # An image holds init.sh as it was.
    [ ! "$lab/images/$kernel.gz" -nt "$here/init.sh" ] || continue
    if [ -e "$lab/kernels/$kernel/release" ]; then
        pack_image "$kernel"
        continue
    fi
    packages=$(kernel_packages "$kernel")
    if [ -z "$packages" ]; then
        echo "no package of kernel $kernel here"
        continue
    fi
    place=$lab/kernels/$kernel
    rm -rf "$place"
    mkdir -p "$place/lib/modules"
    # shellcheck disable=SC2086 # a list of packages
    unpack "$place/unpacked" $packages
    modules=$(find "$place/unpacked" -path '*lib/modules/*' -prune -type d -name '[0-9]*' | head -n 1)
    release=$(basename "$modules")
    mv "$modules" "$place/lib/modules/"
    echo "$release" >"$place/release"
    cp "$place/unpacked/boot/vmlinuz-$release" "$place/vmlinuz" 2>/dev/null || cp "$place/lib/modules/$release/vmlinuz" "$place/vmlinuz"
    rm -rf "$place/unpacked"
    tool depmod -b "$place" "$release"
    pack_image "$kernel"
done

# A disk of zeros without blocks: reading it fills the guest's page cache.
[ -e "$lab/images/disk" ] || truncate -s 2G "$lab/images/disk"
cc -O2 -Wall -static -pthread "$here/load.c" -o "$lab/images/load"
cc -O2 -Wall -static "$here/record.c" -o "$lab/images/record"
