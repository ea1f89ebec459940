#!/usr/bin/env bash
# Builds a guest that boots as a server does: Debian's systemd, udev and sysctl around the kernels that
# lab/corpus/guest/build.sh unpacked below LAB. The root is in memory, so that of a boot nothing is left but /etc.
#
# build.sh LAB KERNEL...
set -euo pipefail
lab=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
export APT_CONFIG=$lab/apt/apt.conf
space=$lab/space
if [ ! -e "$space/usr/lib/systemd/systemd" ]; then
    # Without a status all that is needed is named, not what this machine lacks.
    wanted=$(apt-get -o Dir::State::status=/dev/null install --simulate --no-install-recommends --target-release trixie \
        {base-files,bash,coreutils,dash,findutils,grep,mawk,sed,tar,libc6,kmod,mount,procps,systemd,libsystemd0,udev,util-linux}/trixie 2>/dev/null |
        awk '/^Inst/ { print $2 "/trixie" }')
    rm -rf "$lab/packages/space" "$space"
    mkdir -p "$lab/packages/space" "$space"
    # shellcheck disable=SC2086 # a list of packages
    (cd "$lab/packages/space" && apt-get -q download $wanted)
    # What the others' directories are links to comes first.
    for package in "$lab"/packages/space/base-files_*.deb "$lab"/packages/space/*.deb; do dpkg -x "$package" "$space"; done
    # What is left of a distribution reads the files that keep settings: an emulated processor would take minutes more.
    rm -rf "$lab/packages/space" "$space"/usr/share "$space"/usr/lib/udev/{hwdb.d,hwdb.bin,rules.d} \
        "$space"/usr/lib/{tmpfiles.d,sysusers.d,gconv,x86_64-linux-gnu/{gconv,perl-base}}
    mkdir "$space/usr/lib/tmpfiles.d"
fi
for kernel; do
    image=$lab/images/$kernel-served
    [ ! "$image" -nt "$here/init.sh" ] || [ ! "$image" -nt "$here/steps.sh" ] || [ ! "$image" -nt "$lab/images/$kernel.gz" ] || continue
    root=$lab/kernels/$kernel/root
    rm -rf "$root"
    mkdir -p "$root"
    cp -al "$space/." "$root/"
    (cd "$root/usr" && gunzip -c "$lab/images/$kernel.gz" | "$lab/tools/usr/bin/busybox" cpio -id 'lib/modules/*' 2>/dev/null)
    cp "$lab"/tools/usr/bin/{busybox,cxl,daxctl,ndctl} "$root/usr/bin/"
    cp -nL "$lab"/tools/usr/lib/x86_64-linux-gnu/*.so.* "$root/usr/lib/x86_64-linux-gnu/"
    rm -f "$root"/etc/{passwd,group,machine-id,hostname}
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    echo 'root:x:0:' >"$root/etc/group"
    # Not the first boot, at which systemd would ask questions.
    echo 0123456789abcdef0123456789abcdef >"$root/etc/machine-id"
    echo guest >"$root/etc/hostname"
    cp "$here/init.sh" "$root/init"
    cp "$here/steps.sh" "$root/steps.sh"
    cp "$here"/lab.{service,target} "$root/usr/lib/systemd/system/"
    mkdir -p "$root/etc/systemd/system"
    ln -sf /usr/lib/systemd/system/lab.target "$root/etc/systemd/system/default.target"
    ln -sf mawk "$root/usr/bin/awk"
    for unit in ldconfig systemd-{journald,journal-flush,journal-catalog-update,random-seed,logind,user-sessions,update-done,binfmt,hwdb-update,update-utmp,update-utmp-runlevel,sysusers,remount-fs,machine-id-commit,udev-trigger,udev-load-credentials,tmpfiles-setup-dev-early,tmpfiles-setup-dev,modules-load,pcrphase,pcrmachine,ask-password-console,ask-password-wall} getty@tty1 serial-getty@ttyS0 systemd-boot-random-seed; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit.service"
    done
    for unit in systemd-journald.socket systemd-journald-dev-log.socket systemd-ask-password-wall.path systemd-ask-password-console.path getty.target timers.target dev-hugepages.mount dev-mqueue.mount sys-fs-fuse-connections.mount; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
    done
    chmod 755 "$root/init"
    # As it is: the emulated processor would unpack it.
    (cd "$root" && find . | "$lab/tools/usr/bin/busybox" cpio -o -H newc 2>/dev/null) >"$image.part"
    mv "$image.part" "$image"
    rm -rf "$root"
done
