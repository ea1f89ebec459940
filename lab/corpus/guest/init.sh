#!/bin/busybox sh
# The first process of the guest: brings up the slow node, and for each recording sets the knobs, runs the load and
# records beside it. What differs by recording is in /lab/NUMBER/settings, which is shared with the machine below, as is
# all that it writes.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin:/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug
mount -t cgroup2 group /sys/fs/cgroup
for module in virtio_pci virtio_blk 9p 9pnet_virtio; do modprobe "$module"; done
mkdir -p /lab /tmp
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=none lab /lab
place=/lab/1
. $place/settings

note() { echo "$(date +%s) $*" >>$place/events.log; }
set_to() {
    if echo "$2" >"$1"; then note "set $1=$2"; else note "refused $1=$2"; fi
}

echo online_movable >/sys/devices/system/memory/auto_online_blocks
case $LAYOUT in
nvdimm)
    for module in nfit dax_pmem device_dax kmem; do modprobe "$module"; done
    ndctl create-namespace -f -e namespace0.0 -m devdax -M mem
    daxctl reconfigure-device -m system-ram -f dax0.0
    ;;
cxl)
    for module in cxl_acpi cxl_pci cxl_port cxl_mem dax_cxl device_dax kmem; do modprobe "$module"; done
    sleep 2
    cxl create-region -m -d decoder0.0 -t ram mem0
    sleep 3
    [ -d /sys/devices/system/node/node1 ] || daxctl reconfigure-device -m system-ram -f dax0.0
    ;;
esac
if [ ! -d /sys/devices/system/node/node1 ]; then
    note "no slow node"
    poweroff -f
fi

cp /lab/load /lab/record /lab/globs /tmp/
echo "+memory +cpu" >/sys/fs/cgroup/cgroup.subtree_control
limit=/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps
limit_at_boot=$(cat $limit)

run() {
    set_to /proc/sys/kernel/numa_balancing "$BALANCING"
    set_to /sys/kernel/mm/numa/demotion_enabled "$DEMOTION"
    set_to $limit "${PROMOTE_LIMIT_MIB_PER_S:-$limit_at_boot}"
    set_to /sys/kernel/mm/transparent_hugepage/enabled madvise
    if [ -n "$SCAN_PERIOD_MAX_MS" ]; then
        set_to /sys/kernel/debug/sched/numa_balancing/scan_period_max_ms "$SCAN_PERIOD_MAX_MS"
        set_to /sys/kernel/debug/sched/numa_balancing/hot_threshold_ms "$HOT_THRESHOLD_MS"
        set_to /proc/sys/vm/watermark_scale_factor "$WATERMARK_SCALE_FACTOR"
    fi
    if [ "$SWAP_MIB" -gt 0 ]; then
        modprobe zram
        echo "${SWAP_MIB}M" >/sys/block/zram0/disksize
        mkswap /dev/zram0 >/dev/null && swapon /dev/zram0 && note "swaps to /dev/zram0"
    fi
    mkdir /sys/fs/cgroup/load
    echo 3 >/proc/sys/vm/drop_caches

    note "load begins"
    # shellcheck disable=SC2086 # its arguments are several words
    sh -c 'echo $$ >/sys/fs/cgroup/load/cgroup.procs; exec /tmp/load "$@"' load $LOAD >$place/workload.log 2>&1 &
    load=$!
    /tmp/record $place/snapshots "$SNAPSHOT_S" /tmp/globs /tmp/stop &
    record=$!
    wait $load
    note "load ends $?"
    touch /tmp/stop
    wait $record
    rm /tmp/stop
    rmdir /sys/fs/cgroup/load
    if [ "$SWAP_MIB" -gt 0 ]; then
        swapoff /dev/zram0
        echo 1 >/sys/block/zram0/reset
    fi
    note "done"
    sync
}

for place in /lab/[0-9]*; do
    . $place/settings
    run
done
dmesg >/lab/dmesg.txt
sync
poweroff -f
