# What the steps of a boot are made of. They read and write /lab, which is a directory of the machine below.
export PATH=/usr/sbin:/usr/bin

# settings NAME: all settings of memory and of the scheduler, one `path:value` a line, with the watermarks that follow.
settings() {
    {
        grep -rs --binary-files=without-match --exclude=bitmap --exclude=stat_refresh --exclude-dir=damon \
            --exclude-dir=random '' /proc/sys/vm /proc/sys/kernel /sys/kernel/mm /sys/kernel/debug/sched/numa_balancing
        awk '/^Node/ { zone = $2 $4 } /^ +(min|low|high|promo) / { print "zoneinfo/" zone "/" $1 ":" $2 }' /proc/zoneinfo
    } >"/lab/$1"
}

# late: the slow node of layouts whose memory a driver brings, long after boot.
late() {
    [ ! -d /sys/devices/system/node/node1 ] || return 0
    echo online_movable >/sys/devices/system/memory/auto_online_blocks
    for module in nfit dax_pmem device_dax kmem; do modprobe "$module"; done
    ndctl create-namespace -f -e namespace0.0 -m devdax -M mem >/dev/null
    daxctl reconfigure-device -m system-ram -f dax0.0 >/dev/null
    udevadm settle
}

# load NAME SNAPSHOT_S ARGUMENT...: the load in a group of its own, recorded.
load() {
    name=$1 every=$2
    shift 2
    mkdir -p "/lab/$name" /sys/fs/cgroup/load
    echo "+memory +cpu" >/sys/fs/cgroup/cgroup.subtree_control
    cp /lab/load /lab/record /lab/globs /tmp/
    [ -z "$CPU_MAX" ] || echo "$CPU_MAX" >/sys/fs/cgroup/load/cpu.max
    echo 3 >/proc/sys/vm/drop_caches
    sh -c 'echo $$ >/sys/fs/cgroup/load/cgroup.procs; exec /tmp/load "$@"' load "$@" >"/lab/$name/workload.log" 2>&1 &
    load=$!
    /tmp/record "/lab/$name/snapshots" "$every" /tmp/globs /tmp/stop &
    record=$!
    wait $load
    echo "load ends $?"
    touch /tmp/stop
    wait $record
    rm /tmp/stop
    rmdir /sys/fs/cgroup/load
}

# follow ARGUMENT...: the load, the agent beside it, and a trace of each page that the kernel moves.
follow() {
    cp /lab/tierscope-agent /tmp/
    mkdir -p /tmp/agent
    cp /lab/credential.json /tmp/agent/
    chmod 600 /tmp/agent/credential.json
    [ -d /sys/kernel/tracing/events ] || mount -t tracefs tracing /sys/kernel/tracing
    echo mono >/sys/kernel/tracing/trace_clock
    echo 4096 >/sys/kernel/tracing/buffer_size_kb
    echo 1 >/sys/kernel/tracing/events/migrate/remove_migration_pte/enable
    cat /sys/kernel/tracing/trace_pipe >/lab/moves &
    trace=$!
    cat /proc/zoneinfo >/lab/zoneinfo
    mkdir -p /sys/fs/cgroup/load
    echo "+memory +cpu" >/sys/fs/cgroup/cgroup.subtree_control
    cp /lab/load /tmp/
    [ -z "$CPU_MAX" ] || echo "$CPU_MAX" >/sys/fs/cgroup/load/cpu.max
    sh -c 'echo $$ >/sys/fs/cgroup/load/cgroup.procs; exec /tmp/load "$@"' load "$@" >/lab/workload.log 2>&1 &
    load=$!
    until grep -q filled /lab/workload.log; do sleep 1; done
    /tmp/tierscope-agent run --config /lab/agent.toml >/lab/agent.log 2>&1 &
    agent=$!
    cat /proc/uptime >/lab/followed-from
    wait $load
    kill -TERM $agent
    cat /proc/uptime >/lab/followed-to
    wait $agent
    cp -r /tmp/agent /lab/
    kill $trace
}

# serve: runs /lab/steps.1, steps.2 and so on, each as soon as it is there, until one says `leave`.
serve() {
    number=1
    while :; do
        until [ -e "/lab/steps.$number" ]; do sleep 1; done
        . "/lab/steps.$number"
        : >"/lab/done.$number"
        number=$((number + 1))
    done
}

# leave: /etc is kept for the next boot.
leave() {
    tar -C / -cf /lab/etc.part etc && mv /lab/etc.part /lab/etc.tar
    : >"/lab/done.$number"
    sync
    systemctl --force --force poweroff
}
