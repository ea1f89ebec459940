//! What texts of other tools, and copies of the kernel's, begin with.

pub(super) const IMPORT_COLLECTL: &str =
    "`tierscope import collectl FILE` takes it, and `tierscope assess --host HOST` then says what it tells";
const COLLECTL_TABLE: &str = "it has rates alone; `tierscope import collectl` takes the raw file (*.raw.gz) that collectl writes without -P, or beside it with --rawtoo";
const PERF_REPORT: &str =
    "give its perf.data: `tierscope import perf-data FILE --service S --host H` takes it";
pub(super) const METRICS: &str = "a page of metrics as Prometheus scrapes it";
pub(super) const PAGE: &str = "it is one moment; `tierscope import prometheus --url URL` takes the history of a Prometheus that scrapes it";
pub(super) const FIELDKIT: &str = "collect `tierscope-agent fieldkit` or a sosreport of the host instead";
pub(super) const KERNEL_LOG: &str = "it says what happened and counts nothing; collect `tierscope-agent fieldkit` or a sosreport of the host instead";
pub(super) const SAR: &str = "it has rates alone; `tierscope import sysstat` takes the data file that it was printed of (/var/log/sysstat, /var/log/sa)";
pub(super) const NO_MOVES: &str = "it counts no tier moves, and no command takes it; `tierscope assess` on the host says what the host itself tells";
pub(super) const NODES: &str =
    "`tierscope assess` on the host, or over a copy of its /sys, reads the same nodes and devices";
pub(super) const PROCESSES: &str = "it is one moment of some processes, and no command takes it; `tierscope assess` on the host judges the memory of all that it may read";
pub(super) const TREE: &str = "`tierscope assess DIR` takes it where DIR holds it by its own path (DIR/proc/vmstat), best with DIR/sys/devices/system beside it";

/// Texts: what they begin with, what else stands early in them, what that is, and what to do. The first that fits tells.
pub(super) const TEXTS: [(&str, &str, &str, &str); 54] = [
    (
        "Linux ",
        " CPU)",
        "text of sysstat (sar, mpstat, iostat or pidstat)",
        SAR,
    ),
    ("# hostname;interval;", "", "a table of `sadf -d`", SAR),
    ("System activity data file: ", "", "text of `sadf -H`", SAR),
    ("", "; pgpgin/s; ", "text of `sadf -r`", SAR),
    ("<?xml", "<sysstat", "output of `sadf -x`", SAR),
    (
        "<?xml",
        "<GANGLIA_XML",
        "an answer of gmond or gmetad (Ganglia)",
        NO_MOVES,
    ),
    ("", "#Date Time ", "a table of `collectl -P`", COLLECTL_TABLE),
    (
        "#####",
        "# Collectl: ",
        "a recording of collectl",
        IMPORT_COLLECTL,
    ),
    ("Linux OSWbb", "", "a file of OSWatcher", NO_MOVES),
    ("zzz ***", "", "a file of OSWatcher", NO_MOVES),
    ("total        used", "Mem:", "text of free", NO_MOVES),
    ("", " K total memory\n", "text of `vmstat -s`", NO_MOVES),
    ("RANGE ", " STATE ", "text of lsmem", NODES),
    (
        "# started on ",
        "Performance counter stats",
        "text of `perf stat`",
        NO_MOVES,
    ),
    (
        "Per-node process memory usage",
        "",
        "text of `numastat -p`",
        PROCESSES,
    ),
    ("Per-node numastat info", "", "text of `numastat -n`", NODES),
    (
        "",
        " kernelpagesize_kB=",
        "a copy of /proc/PID/numa_maps",
        PROCESSES,
    ),
    ("", "\nPss: ", "a copy of /proc/PID/smaps", PROCESSES),
    ("cpu  ", "\nintr ", "a copy of /proc/stat", TREE),
    ("some avg10=", "", "a copy of a file of /proc/pressure", TREE),
    ("Node 0 MemTotal:", " kB", "a copy of a node's meminfo", TREE),
    ("numa_hit ", "", "a copy of a node's numastat", TREE),
    ("AAA,progname,nmon", "", "a recording of nmon", NO_MOVES),
    ("\"dool ", "CSV output", "a table of dool", NO_MOVES),
    ("\"Dstat ", "CSV output", "a table of dstat", NO_MOVES),
    ("ATOP - ", "", "text of atop", NO_MOVES),
    ("RESET", "", "text of `atop -P`", NO_MOVES),
    ("procs ----", "memory", "text of vmstat", NO_MOVES),
    ("Per-node system memory usage", "", "text of `numastat -m`", NODES),
    ("Token ", " not in hash table", "text of `numastat -m`", NODES),
    ("node0", "", "text of numastat", NODES),
    ("available: ", " nodes (", "text of `numactl -H`", NODES),
    ("nr_free_pages ", "", "a copy of /proc/vmstat", TREE),
    ("MemTotal:", " kB", "a copy of /proc/meminfo", TREE),
    (
        "Node 0, zone ",
        "",
        "a copy of /proc/zoneinfo or /proc/buddyinfo",
        TREE,
    ),
    ("# HELP ", "", METRICS, PAGE),
    ("# TYPE ", "", METRICS, PAGE),
    ("# PCP5 ", "", METRICS, PAGE),
    (
        "# To display the perf.data header info",
        "",
        "text of `perf report` or `perf mem report`",
        PERF_REPORT,
    ),
    (
        "=====",
        "Trace Event Information",
        "text of `perf c2c report`",
        PERF_REPORT,
    ),
    (
        "=====",
        "#==[ ",
        "a text of a supportconfig",
        "give the whole report: `tierscope assess FILE` takes its archive (.txz, .tbz, .tgz) or its directory",
    ),
    ("crash ", "DUMPFILE: ", "text of a session of crash", FIELDKIT),
    ("--procs--", "memory", "text of `vmstat -w`", NO_MOVES),
    ("Cache ", " Num  Total", "text of `vmstat -m`", NO_MOVES),
    ("disk- ---", "", "text of `vmstat -d`", NO_MOVES),
    ("Active / Total Objects", "", "text of slabtop", NO_MOVES),
    ("slabinfo - version", "", "a copy of /proc/slabinfo", NO_MOVES),
    ("Page block order", "", "a copy of /proc/pagetypeinfo", NO_MOVES),
    ("Filename", "Priority", "a copy of /proc/swaps", TREE),
    ("top - ", "load average", "text of top", PROCESSES),
    ("USER ", " %MEM ", "text of ps", PROCESSES),
    ("Architecture: ", "", "text of lscpu", NODES),
    ("Machine (", "NUMANode", "text of lstopo (hwloc)", NODES),
    (
        "<?xml",
        "<!DOCTYPE topology",
        "output of `lstopo --of xml` (hwloc)",
        NODES,
    ),
];
