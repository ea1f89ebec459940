//! What a file is, by its content, and which command takes it: what people have lies about in many forms.

mod texts;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::damo::looks_like_damo;
use crate::tree::form::{Form, form_of, may_be_tar, unpacked};
use texts::{FIELDKIT, IMPORT_COLLECTL, KERNEL_LOG, METRICS, NO_MOVES, NODES, PAGE, SAR, TEXTS};

/// Bytes that are looked at.
const HEAD_BYTES: u64 = 4096;

/// A file that is something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// In words: `a perf.data file`.
    pub what: String,
    /// What to do with it: a command that takes it, or that makes something of it that one takes.
    pub next_step: String,
    /// How `tierscope analyze` calls what it takes; `None` for what it does not.
    pub analyzed_as: Option<&'static str>,
}

/// Tells what a file is. `None` where nothing tells.
///
/// # Errors
/// Where it cannot be read.
pub fn recognise(path: &Path) -> std::io::Result<Option<Recognised>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES).read_to_end(&mut head)?;
    match form_of(&head) {
        Some(form @ (Form::Gzip | Form::Bzip2 | Form::Xz | Form::Zstd)) => recognise_packed(form, path),
        _ => Ok(recognise_head(&head)),
    }
}

/// What a packed file holds: an archive, or one file. What is damaged before anything tells stays an archive.
fn recognise_packed(form: Form, path: &Path) -> std::io::Result<Option<Recognised>> {
    let mut head = Vec::new();
    let read =
        unpacked(form, File::open(path)?).and_then(|content| content.take(HEAD_BYTES).read_to_end(&mut head));
    if may_be_tar(&head) || (read.is_err() && head.is_empty()) {
        return Ok(Some(archive()));
    }
    let (by, unpack) = match form {
        Form::Xz => ("xz", "unxz"),
        Form::Bzip2 => ("bzip2", "bunzip2"),
        Form::Zstd => ("zstd", "unzstd"),
        _ => ("gzip", "gunzip"),
    };
    let Some(inside) = recognise_head(&head) else {
        return Ok(None);
    };
    let what = format!("{}, packed by {by}", inside.what);
    let is_taken_packed = match inside.next_step.as_str() {
        IMPORT_SYSSTAT | IMPORT_PCP => form != Form::Zstd,
        IMPORT_COLLECTL => form == Form::Gzip,
        _ => false,
    };
    // A next step that names a command for the file needs it unpacked; others are not about the file.
    let step = &inside.next_step;
    let is_for_the_file = step.starts_with('`') && step.contains(" FILE");
    Ok(Some(if is_taken_packed || !is_for_the_file {
        other(&what, step)
    } else {
        other(&what, &format!("unpack it first (`{unpack} FILE`), then: {step}"))
    }))
}

/// What stands after the name of a file that is no archive.
pub(crate) fn words(path: &Path) -> String {
    match recognise(path) {
        Ok(Some(Recognised { what, next_step, .. })) => format!("is {what}: {next_step}"),
        _ => {
            "is no archive (.tar, .tar.gz, .tar.bz2, .tar.xz, .tar.zst, .zip) and no file that is known here"
                .to_owned()
        }
    }
}

const ANALYZE: &str = "`tierscope analyze FILE` takes it";
const PERF_DATA: &str = "`tierscope import perf-data FILE --service S --host H` takes it";
const PERF_SCRIPT: &str = "`tierscope import perf-script FILE --service S --host H` takes it";
const IMPORT_SYSSTAT: &str =
    "`tierscope import sysstat FILE` takes it, and `tierscope assess --host HOST` then says what it tells";
const IMPORT_PCP: &str =
    "`tierscope import pcp FILE` takes it, and `tierscope assess --host HOST` then says what it tells";

const PARQUET: &[u8] = b"PAR1";

/// Files whose first bytes tell: where, which bytes, what that is, and what to do.
const MAGIC: [(usize, &[u8], &str, &str); 11] = [
    (
        0,
        PARQUET,
        "a Parquet file",
        "`tierscope analyze FILE` takes page traces of this form, `tierscope import page-trace FILE --service S --host H` stores them",
    ),
    (0, b"PERFILE2", "a perf.data file", PERF_DATA),
    (0, b"2ELIFREP", "a perf.data file of a big-endian host", PERF_DATA),
    (
        0,
        b"\x17\x08\x44tracing",
        "a recording of trace-cmd",
        "`trace-cmd report FILE > FILE.txt` makes text of it that `tierscope analyze` takes, where it has events of DAMON",
    ),
    (4, b"\x50\x05\x26", "a part of a PCP archive", IMPORT_PCP),
    (
        0,
        b"\xef\xbe\xed\xfe",
        "a log of atop",
        "`atop -r FILE -P PAG,SWP,MEM` prints it; it counts no tier moves by node, and no command takes it",
    ),
    (0, b"KDUMP   ", "a crash dump", FIELDKIT),
    (0, b"makedumpfile\0", "a crash dump (makedumpfile -F)", FIELDKIT),
    (
        0,
        b"RRD\0",
        "a round-robin database (collectd, Ganglia, Munin)",
        NO_MOVES,
    ),
    (0, b"\x7fELF", "a program, a library or a core dump", FIELDKIT),
    (
        0,
        b"SQLite format 3",
        "an SQLite database",
        "export what you need of it; no command takes it",
    ),
];

fn recognise_head(head: &[u8]) -> Option<Recognised> {
    if form_of(head).is_some() {
        return Some(archive());
    }
    let told = MAGIC
        .iter()
        .find(|(at, magic, ..)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    if let Some((_, magic, what, next_step)) = told {
        let is_parquet = *magic == PARQUET;
        return Some(if is_parquet {
            taken(what, next_step, "page-trace")
        } else {
            other(what, next_step)
        });
    }
    if let Some(version) = sysstat_version(head) {
        let what = format!("a data file of sysstat {version} (sa)");
        return Some(other(&what, IMPORT_SYSSTAT));
    }
    if looks_like_damo(head) {
        return Some(taken("a record of damo", ANALYZE, "damo-record"));
    }
    let text = std::str::from_utf8(head).or_else(|error| std::str::from_utf8(&head[..error.valid_up_to()]));
    recognise_text(text.ok()?.trim_start_matches('\u{feff}').trim_start())
}

fn archive() -> Recognised {
    let next_step = "`tierscope assess FILE` and `tierscope analyze FILE` take it";
    taken("an archive", next_step, "vmstat-dir")
}

fn recognise_text(start: &str) -> Option<Recognised> {
    let first = start.lines().next().unwrap_or_default();
    if is_kernel_log(first) {
        return Some(other("a log of the kernel (dmesg, vmcore-dmesg)", KERNEL_LOG));
    }
    if start.starts_with(['{', '[']) {
        return recognise_json(start);
    }
    let told = TEXTS
        .iter()
        .find(|(begin, inside, ..)| start.starts_with(begin) && start.contains(inside));
    if let Some((.., what, next_step)) = told {
        return Some(other(what, next_step));
    }
    let mut lines = start
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    if lines.clone().take(20).any(is_event) {
        return Some(other("text of `perf script`", PERF_SCRIPT));
    }
    if start.lines().any(is_metric) {
        return Some(other(METRICS, PAGE));
    }
    if is_sadf_p(first) {
        return Some(other("text of `sadf -p`", SAR));
    }
    if is_line_protocol(first) {
        return Some(other(
            "metrics as lines of InfluxDB (`outputs.file` of Telegraf)",
            "no command takes files of it; Telegraf sends the same by `outputs.http` (docs/howto/prometheus.md)",
        ));
    }
    if start.starts_with("Time,\"") {
        return Some(other("a table of `pmrep -o csv`", IMPORT_PCP));
    }
    let commas = |line: &str| line.matches(',').count();
    let (first, second) = (lines.next()?, lines.next()?);
    (commas(first) > 0 && commas(first) == commas(second)).then(|| {
        other(
            "a table of comma-separated values",
            "page traces are taken as Parquet, with the columns interval, page, loads, stores and kind",
        )
    })
}

fn other(what: &str, next_step: &str) -> Recognised {
    Recognised {
        what: what.to_owned(),
        next_step: next_step.to_owned(),
        analyzed_as: None,
    }
}

fn taken(what: &str, next_step: &str, analyzed_as: &'static str) -> Recognised {
    Recognised {
        analyzed_as: Some(analyzed_as),
        ..other(what, next_step)
    }
}

const CXL_LIST: &str = "output of `cxl list`, `daxctl list` or `ndctl list`";
const HISTORY: &str = "`tierscope import prometheus --url URL` takes the history from the server itself";

/// What stands early in JSON without its spaces, what that is, and what to do.
const JSONS: [(&str, &str, &str); 15] = [
    ("{\"sysstat\":", "output of `sadf -j`", IMPORT_SYSSTAT),
    (
        "\"schema\":\"tierscope.once/",
        "a reading of `tierscope-agent once --json`",
        "`tierscope assess FILE` takes it",
    ),
    ("\"memdev\":\"mem", CXL_LIST, NODES),
    ("\"chardev\":\"dax", CXL_LIST, NODES),
    ("\"dev\":\"namespace", CXL_LIST, NODES),
    ("\"dev\":\"region", CXL_LIST, NODES),
    ("{\"lscpu\":[", "output of `lscpu -J`", NODES),
    ("{\"memory\":[{\"range\":", "output of `lsmem -J`", NODES),
    (
        "{\"resourceMetrics\":[",
        "metrics of OpenTelemetry (the exporter file of a collector)",
        "no command takes files of it; the exporter otlphttp sends the same (docs/howto/opentelemetry.md)",
    ),
    (
        "{\"metric\":{\"__name__\":",
        "an export of VictoriaMetrics",
        HISTORY,
    ),
    (
        "\"data\":{\"resultType\":",
        "an answer of the API of Prometheus",
        HISTORY,
    ),
    (
        "{__name__=\"",
        "samples as `promtool tsdb dump` prints them",
        HISTORY,
    ),
    (
        "\"ulid\":\"",
        "the meta.json of a block of Prometheus, Thanos or Mimir",
        "start a Prometheus over a copy of its data directory (`--storage.tsdb.path`), and `tierscope import prometheus --url URL` takes its history",
    ),
    (
        "{\"host\":{\"host\":\"",
        "an export of Zabbix (history or trends)",
        NO_MOVES,
    ),
    (
        "{\"fields\":{",
        "metrics of Telegraf as JSON",
        "no command takes files of it; Telegraf sends the same by `outputs.http` (docs/howto/prometheus.md)",
    ),
];

fn recognise_json(start: &str) -> Option<Recognised> {
    let compact: String = start
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .take(200)
        .collect();
    let told = JSONS.iter().find(|(key, ..)| compact.contains(key));
    told.map(|(_, what, next_step)| other(what, next_step))
}

/// `sa` files begin with two magic numbers of 16 bits and the version of sysstat (`sa.h`, `struct file_magic`).
fn sysstat_version(head: &[u8]) -> Option<String> {
    let [a, b, _, _, major, minor, patch, ..] = *head else {
        return None;
    };
    let is_sysstat = [a, b] == 0xd596_u16.to_le_bytes() || [a, b] == 0xd596_u16.to_be_bytes();
    is_sysstat.then(|| format!("{major}.{minor}.{patch}"))
}

/// A line of an event: a time in seconds with a colon, then the name of the event with another.
fn is_event(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_time = |word: &str| {
        let time = word.strip_suffix(':').and_then(|time| time.split_once('.'));
        time.is_some_and(|(seconds, fraction)| is_number(seconds) && is_number(fraction))
    };
    words.any(is_time) && words.any(|word| word.ends_with(':'))
}

/// A line of the kernel's log: its time since boot or by the clock in brackets, or as syslog has it.
fn is_kernel_log(line: &str) -> bool {
    let in_brackets = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .map(|(time, _)| time.trim());
    let is_since_boot = |time: &str| {
        time.split_once('.')
            .is_some_and(|(a, b)| is_number(a) && is_number(b))
    };
    let is_by_clock = |time: &str| time.matches(':').count() == 2 && time.split(' ').count() >= 5;
    in_brackets.is_some_and(|time| is_since_boot(time) || is_by_clock(time)) || line.contains(" kernel: ")
}

/// Host, interval, time, device, name and value, with tabs between.
fn is_sadf_p(line: &str) -> bool {
    let words: Vec<&str> = line.split('\t').collect();
    matches!(words[..], [_, interval, _, _, _, value] if is_number(interval) && value.parse::<f64>().is_ok())
}

/// A line of the text format of Prometheus that no other text has: a name with labels and a number, or a name that
/// `node_exporter` gives with a number.
fn is_metric(line: &str) -> bool {
    let Some((series, value)) = line.trim_end().rsplit_once(' ') else {
        return false;
    };
    let name = series.split('{').next().unwrap_or_default();
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'));
    let labels = &series[name.len()..];
    let is_labelled = labels.starts_with('{') && labels.contains("=\"") && labels.contains("\"}");
    is_name && !name.is_empty() && (is_labelled || name.starts_with("node_")) && value.parse::<f64>().is_ok()
}

/// A measurement with its tags, fields, and a time in nanoseconds.
fn is_line_protocol(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    matches!(words[..], [name, .., fields, time]
        if name.contains(',') && fields.contains('=') && time.len() == 19 && is_number(time))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What files of text begin with, and what they are said to be.
    const STARTS: [(&str, &str); 60] = [
        (
            "Linux 6.18.44 (vm) \t11/29/26 \t_x86_64_\t(2 CPU)\n\n08:22:49 pgpgin/s\n",
            "sysstat",
        ),
        (
            "# hostname;interval;timestamp;pgpgin/s\nvm;1;2026-11-29 08:22:50 UTC;4.00\n",
            "sadf -d",
        ),
        ("AAA,progname,nmon\nAAA,command,nmon -f\n", "nmon"),
        ("\"dool 1.3.8 CSV output\"\n\"Author:\",\"Scott Baker\"\n", "dool"),
        (
            "RESET\nPAG vm 1795940574 2026/11/29 08:22:54 43849 4096\n",
            "atop -P",
        ),
        ("\nPer-node system memory usage (in MBs):\n", "numastat -m"),
        ("Token SwapCached not in hash table.\n", "numastat -m"),
        (
            "                           node0\nnuma_hit   829624053\n",
            "numastat",
        ),
        ("available: 1 nodes (0)\nnode 0 cpus: 0 1\n", "numactl -H"),
        (
            "procs -----------memory---------- ---swap--\n r  b   swpd\n",
            "vmstat",
        ),
        ("nr_free_pages 1\nnr_free_pages_blocks 1\n", "/proc/vmstat"),
        ("# HELP node_vmstat_pgfault /proc/vmstat\n", "metrics"),
        (
            "# PCP5 mem.vmstat.pgfault 60.28.154 u64 PM_INDOM_NULL counter count, all\n# HELP a, b\n",
            "metrics",
        ),
        (
            "kernel_vmstat_nr_mapped{host=\"db1\",zone=\"a,b\"} 486\nmem_free{host=\"db1\",zone=\"a,b\"} 1e+06 1700000000000\n",
            "metrics",
        ),
        (
            "node_boot_time_seconds 1.795221451e+09\nnode_load1 NaN\n",
            "metrics",
        ),
        ("[\n  {\n    \"memdev\":\"mem0\",\n", "cxl list"),
        (
            "# To display the perf.data header info, please use --header\n#\n",
            "perf report",
        ),
        ("[    0.000000] Linux version 6.12.0-55\n", "log of the kernel"),
        (
            "[Sun Nov 29 10:00:00 2026] Linux version 6.12\n",
            "log of the kernel",
        ),
        ("Nov 29 10:00:00 db1 kernel: Memory: 3\n", "log of the kernel"),
        ("makedumpfile\0\0\0\0", "crash dump"),
        ("RRD\x000003\0", "round-robin database"),
        ("vm\t1\t2026-11-28 17:56:20 UTC\t-\tpgpgin/s\t681.19\n", "sadf -p"),
        (
            "17:56:20 UTC; pgpgin/s; 5745045; 5745733; pgpgout/s; 1; 2;\n",
            "sadf -r",
        ),
        (
            "System activity data file: /var/log/sa/sa27 (0x2175)\n",
            "sadf -H",
        ),
        (
            "<?xml version=\"1.0\"?>\n<!DOCTYPE sysstat>\n<sysstat\nxmlns=",
            "sadf -x",
        ),
        ("<?xml version=\"1.0\"?>\n<GANGLIA_XML VERSION=", "gmond"),
        ("#######\n# Collectl:   V4.3.1-1  HiRes: 1\n", "collectl"),
        (
            "zzz ***Sun Nov 29 10:00:00 UTC 2026\nMemTotal:       3678620 kB\n",
            "OSWatcher",
        ),
        (
            "      24684084 K total memory\n      5476312 K used memory\n",
            "vmstat -s",
        ),
        (
            "\nPer-node process memory usage (in MBs) for PID 1 (systemd)\n",
            "numastat -p",
        ),
        (
            "7f00 default file=/usr/bin/redis mapped=1 N0=1 kernelpagesize_kB=4\n",
            "numa_maps",
        ),
        (
            "7f00-7f01 r-xp 0 00:00 0 /x\nSize: 4 kB\nRss: 4 kB\nPss: 4 kB\n",
            "smaps",
        ),
        ("Node 0 MemTotal:       25 kB\n", "node's meminfo"),
        ("mem,host=db1 total=5i 1795946400000000000\n", "Telegraf"),
        ("{\"resourceMetrics\":[{\"resource\":{}}]}\n", "OpenTelemetry"),
        (
            "{\"metric\":{\"__name__\":\"up\"},\"values\":[1]}\n",
            "VictoriaMetrics",
        ),
        (
            "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\"}}",
            "Prometheus",
        ),
        (
            "{\n   \"memory\": [\n      {\n         \"range\": \"0x0\"",
            "lsmem -J",
        ),
        (
            "################\n# Collectl:   V4.3.1-1  HiRes: 1  Options: -P -f /tmp\n####\n#Date Time [CPU]User%\n",
            "collectl -P",
        ),
        (
            "#Date Time [CPU]User% [MEM]Tot\n20261130 00:00:00 1 2\n",
            "collectl -P",
        ),
        ("# TYPE node_vmstat_pgfault untyped\n", "metrics"),
        (
            "{__name__=\"up\", instance=\"db1:9100\"} 1 1700000000000\n",
            "promtool",
        ),
        (
            "{\n\t\"ulid\": \"01G0P9P6T0VSA5Z484BRGH2N68\",\n",
            "block of Prometheus",
        ),
        (
            "{\"host\":{\"host\":\"db1\",\"name\":\"db1\"},\"groups\":[]}\n",
            "Zabbix",
        ),
        (
            "--procs-- -----------------------memory----------------------\n",
            "vmstat",
        ),
        (
            "Cache                       Num  Total   Size  Pages\nAF_VSOCK 24 24\n",
            "vmstat -m",
        ),
        (
            "disk- ------------reads------------ ------------writes\n",
            "vmstat -d",
        ),
        (
            " Active / Total Objects (% used)    : 5567306 / 6241809\n",
            "slabtop",
        ),
        ("slabinfo - version: 2.1\n# name <active_objs>\n", "slabinfo"),
        ("Filename\t\t\tType\t\tSize\t\tUsed\t\tPriority\n", "/proc/swaps"),
        ("Page block order: 9\nPages per block:  512\n", "pagetypeinfo"),
        (
            "top - 00:43:26 up  7:45,  0 user,  load average: 1.69, 2.67, 1.0\n",
            "text of top",
        ),
        ("USER       PID %CPU %MEM    VSZ   RSS TTY\n", "text of ps"),
        ("Architecture:                            x86_64\n", "lscpu"),
        (
            "Machine (3593MB total)\n  Package L#0\n    NUMANode L#0\n",
            "lstopo",
        ),
        (
            "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology>\n",
            "lstopo",
        ),
        (
            "crash 8.0.2\nCopyright\n      KERNEL: vmlinux\n    DUMPFILE: vmcore\n",
            "session of crash",
        ),
        (
            "==========\n            Trace Event Information\n==========\n",
            "perf c2c",
        ),
        (
            "=====\n#==[ Command ]====#\n# /bin/cat /proc/vmstat\n",
            "supportconfig",
        ),
    ];

    #[test]
    fn files_are_told_by_their_content_with_what_takes_them() {
        let cases: [(&[u8], &str, &str); 12] = [
            (b"PAR1xxxx", "Parquet", "analyze"),
            (b"PERFILE2h", "perf.data", "import perf-data"),
            (
                &[0x96, 0xd5, 0x75, 0x21, 12, 7, 5, 0, 1],
                "sysstat 12.7.5",
                "import sysstat",
            ),
            (
                &[0xd5, 0x96, 0x21, 0x75, 11, 0, 1, 0, 1],
                "sysstat 11.0.1",
                "import sysstat",
            ),
            (b"{\"sysstat\": {\n\t\"hosts\": [", "sadf -j", "import sysstat"),
            (&[0, 0, 3, 0x28, 0x50, 5, 0x26, 3, 0, 0], "PCP", "import pcp"),
            (
                b"Time,\"mem.vmstat.pgfault\"\n2026-11-02 00:00:00,5\n",
                "pmrep",
                "import pcp",
            ),
            (&[0xef, 0xbe, 0xed, 0xfe, 0, 0], "atop", "atop -r"),
            (b"time,addr\n1,4096\n", "comma-separated", "Parquet"),
            (
                b"redis 77 [000] 10.500000: mem-loads: 7f00 401000 main (/usr/bin/redis)\n",
                "perf script",
                "import perf-script",
            ),
            (
                b"# comment\nk 1 [0] 10.5: damon:damon_aggregated: target_id=0 nr_regions=1 0-4096: 1 1\n",
                "record of damo",
                "analyze",
            ),
            (b"{\"schema\": \"tierscope.once/1\"", "once --json", "assess"),
        ];
        for (head, what, next_step) in cases {
            let told = recognise_head(head);
            let told = told
                .as_ref()
                .map(|one| (one.what.contains(what), one.next_step.contains(next_step)));
            assert_eq!(told, Some((true, true)), "{what}");
        }
    }

    #[test]
    fn texts_are_told_by_what_they_begin_with() {
        for (text, what) in STARTS {
            let told = recognise_head(text.as_bytes());
            assert!(
                told.as_ref().is_some_and(|one| one.what.contains(what)),
                "{what}: {told:?}"
            );
        }
        for head in [&b""[..], b"hello", b"{\"a\": 1}", &[0; 64]] {
            assert_eq!(recognise_head(head), None, "{head:?}");
        }
    }
}
