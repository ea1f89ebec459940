//! Snapshot trees as directories and archives, from friends and from others.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tierscope_import::tree::{Limits, TreeProblem, open, open_with};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../tests/data/kernel-lab")
        .join(name)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    fs::write(path, text).expect("written");
}

/// An archive with one entry per given (kind, path, bytes).
fn archive(directory: &Path, entries: &[(tar::EntryType, &str, &[u8])]) -> PathBuf {
    let mut builder = tar::Builder::new(Vec::new());
    for (kind, path, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // Not set_path, which refuses what is tested here.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name("/etc/passwd").expect("short");
        }
        header.set_cksum();
        builder.append(&header, *bytes).expect("appended");
    }
    let path = directory.join("made.tar.zst");
    let tar = builder.into_inner().expect("finished");
    fs::write(&path, zstd::bulk::compress(&tar, 3).expect("compressed")).expect("written");
    path
}

const FILE: tar::EntryType = tar::EntryType::Regular;

#[test]
fn the_recorder_tells_both_clocks_and_the_boot_is_one() {
    let tree = open(&recording("04-pingpong.tar.zst")).expect("readable");
    assert_eq!(tree.name, "04-pingpong");
    assert_eq!(tree.snapshots.len(), 103);
    let first = &tree.snapshots[0];
    assert_eq!(first.wall_ns, 1_795_221_490_441_948_000);
    assert_eq!(first.boottime_ns, Some(38_952_136_000));
    assert!(first.root.join("proc/vmstat").is_file());
    assert!(
        tree.snapshots
            .iter()
            .all(|snapshot| snapshot.boot_id == first.boot_id)
    );
    assert!(
        tree.snapshots
            .windows(2)
            .all(|pair| pair[0].wall_ns < pair[1].wall_ns)
    );
    let again = open(&recording("04-pingpong.tar.zst")).expect("readable");
    assert_eq!(again.snapshots[0].boot_id, first.boot_id);
}

#[test]
fn an_unpacked_archive_goes_with_its_tree() {
    let tree = open(&recording("12-kernel-6.1.tar.zst")).expect("readable");
    let root = tree.snapshots[0].root.clone();
    assert!(root.is_dir());
    drop(tree);
    assert!(!root.exists());
}

#[test]
fn a_restart_within_a_recording_is_another_boot() {
    let directory = TempDir::new().expect("a directory");
    for (name, monotonic) in [("100", "50.5"), ("102", "52.5"), ("104", "1.25")] {
        let snapshot = directory.path().join(name);
        write(&snapshot.join("proc/vmstat"), "pgfault 1\n");
        write(
            &snapshot.join("_recorder"),
            &format!("realtime_end {name}.5\nmonotonic_end {monotonic}\n"),
        );
    }
    write(&directory.path().join("105.5/proc/vmstat"), "pgfault 1\n");
    write(&directory.path().join("notes/readme"), "no snapshot");
    let tree = open(directory.path()).expect("readable");
    let boots: Vec<_> = tree.snapshots.iter().map(|snapshot| &snapshot.boot_id).collect();
    assert!(
        boots[0] == boots[1] && boots[1] != boots[2] && boots[2] == boots[3],
        "{boots:?}"
    );
    assert_eq!(tree.snapshots[2].boottime_ns, Some(1_250_000_000));
    assert_eq!(
        (tree.snapshots[3].wall_ns, tree.snapshots[3].boottime_ns),
        (105_500_000_000, None)
    );
}

#[test]
fn a_recorded_boot_id_is_kept_and_a_wild_clock_is_not_believed() {
    let directory = TempDir::new().expect("a directory");
    let snapshot = directory.path().join("1000");
    write(&snapshot.join("proc/sys/kernel/random/boot_id"), "abc\n");
    write(&snapshot.join("_recorder"), "realtime_end 9999999.0\n");
    let tree = open(&snapshot).expect("readable");
    assert_eq!(tree.snapshots[0].boot_id, "abc");
    assert_eq!(tree.snapshots[0].wall_ns, 1_000_000_000_000);
}

#[test]
fn paths_that_lead_out_are_refused() {
    let directory = TempDir::new().expect("a directory");
    for path in ["../evil", "1000/proc/../../../evil", "/tmp/evil"] {
        let made = archive(directory.path(), &[(FILE, path, b"x")]);
        let error = open(&made).expect_err("refused");
        assert!(
            matches!(error.problem, TreeProblem::Escapes(_)),
            "{path}: {error}"
        );
    }
}

#[test]
fn links_are_passed_over() {
    let directory = TempDir::new().expect("a directory");
    let entries: [(tar::EntryType, &str, &[u8]); 4] = [
        (FILE, "1000/proc/vmstat", b"pgfault 1\n"),
        (tar::EntryType::Symlink, "1000/proc/link", b""),
        (tar::EntryType::Link, "1000/proc/hard", b""),
        (tar::EntryType::Fifo, "1000/proc/pipe", b""),
    ];
    let tree = open(&archive(directory.path(), &entries)).expect("readable");
    let names = fs::read_dir(tree.snapshots[0].root.join("proc")).expect("there");
    assert_eq!(names.count(), 1);
}

#[test]
fn limits_hold_while_inflating() {
    let directory = TempDir::new().expect("a directory");
    let zeros = vec![0; 1 << 20];
    let entries: [(tar::EntryType, &str, &[u8]); 2] =
        [(FILE, "1000/proc/a", &zeros), (FILE, "1000/proc/b", &zeros)];
    let made = archive(directory.path(), &entries);
    let limits = Limits {
        files: 2,
        file_bytes: 1 << 20,
        total_bytes: 2 << 20,
    };
    assert!(open_with(&made, limits).is_ok());
    for (tight, expected) in [
        (Limits { files: 1, ..limits }, "files"),
        (
            Limits {
                file_bytes: 1 << 19,
                ..limits
            },
            "bytes in one file",
        ),
        (
            Limits {
                total_bytes: 1 << 20,
                ..limits
            },
            "bytes",
        ),
    ] {
        let error = open_with(&made, tight).expect_err("refused");
        assert!(
            matches!(error.problem, TreeProblem::TooLarge { what, .. } if what == expected),
            "{error}"
        );
    }
}

#[test]
fn what_is_no_recording_is_said() {
    let directory = TempDir::new().expect("a directory");
    assert!(matches!(
        open(directory.path()).expect_err("refused").problem,
        TreeProblem::Empty
    ));
    let text = directory.path().join("notes.txt");
    write(&text, "hello");
    let error = open(&text).expect_err("refused");
    assert!(matches!(error.problem, TreeProblem::NoArchive(_)));
    let chain = format!("{:#}", std::io::Error::other(error));
    assert_eq!(chain.matches("is no archive").count(), 1, "{chain}");
    assert_eq!(chain.matches("notes.txt").count(), 1, "{chain}");
    let table = directory.path().join("t.csv");
    write(&table, "time,addr\n1,4096\n2,8192\n");
    let message = open(&table).expect_err("refused").to_string();
    assert!(
        message.contains("t.csv is a table") && message.contains("Parquet"),
        "{message}"
    );
    assert!(matches!(
        open(Path::new("/does/not/exist")).expect_err("refused").problem,
        TreeProblem::Open(_)
    ));
}

/// A plain tar with these members: kind, name, bytes.
fn tar_of(members: &[(tar::EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (kind, path, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(1_795_000_000);
        header.set_path(path).expect("a path");
        header.set_cksum();
        builder.append(&header, *bytes).expect("appended");
    }
    builder.into_inner().expect("finished")
}

fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(*name, options).expect("started");
        zip.write_all(bytes).expect("written");
    }
    zip.finish().expect("finished").into_inner()
}

fn xz_of(bytes: &[u8]) -> Vec<u8> {
    let mut xz =
        lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("options");
    xz.write_all(bytes).expect("written");
    xz.finish().expect("finished")
}

fn gzip_of(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).expect("written");
    gzip.finish().expect("finished")
}

fn bzip2_of(bytes: &[u8]) -> Vec<u8> {
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packed.write_all(bytes).expect("written");
    packed.finish().expect("finished")
}

#[test]
fn one_file_that_is_packed_alone_is_told_by_what_it_holds() {
    let directory = TempDir::new().expect("a directory");
    let collectl = b"################\n# Collectl:   V4.3.1-1  HiRes: 1\n# Host:       db1\n";
    let sysstat = [0x96, 0xd5, 0x75, 0x21, 12, 7, 5, 0, 1];
    let perf = zstd::bulk::compress(b"PERFILE2h", 3).expect("compressed");
    let cases = [
        (
            "db1.raw.gz",
            gzip_of(collectl),
            "recording of collectl, packed by gzip: `tierscope import collectl",
        ),
        (
            "sa27.xz",
            xz_of(&sysstat),
            "sysstat 12.7.5 (sa), packed by xz: `tierscope import sysstat",
        ),
        (
            "sa28.bz2",
            bzip2_of(&sysstat),
            "sysstat 12.7.5 (sa), packed by bzip2: `tierscope import sysstat",
        ),
        (
            "perf.data.zst",
            perf,
            "perf.data file, packed by zstd: unpack it first (`unzstd FILE`), then: `tierscope import perf-data",
        ),
        (
            "top.gz",
            gzip_of(b"top - 00:43:26 up 1 day, load average: 1.69, 2.67\n"),
            "text of top, packed by gzip: it is one moment",
        ),
        ("notes.gz", gzip_of(b"hello"), "is no archive"),
    ];
    for (name, bytes, expected) in cases {
        let path = directory.path().join(name);
        fs::write(&path, bytes).expect("written");
        let error = open(&path).expect_err("refused");
        assert!(matches!(error.problem, TreeProblem::NoArchive(_)), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_single_root_is_read_from_an_archive_of_any_form() {
    let directory = TempDir::new().expect("a directory");
    let members: [(tar::EntryType, &str, &[u8]); 3] = [
        (FILE, "sosreport-db1/version.txt", b"sosreport: 4.9.1\n"),
        (FILE, "sosreport-db1/proc/vmstat", b"pgfault 7\n"),
        (FILE, "sosreport-db1/proc/uptime", b"12.50 20.00\n"),
    ];
    let tar = tar_of(&members);
    let zipped: Vec<(&str, &[u8])> = members.iter().map(|(_, name, bytes)| (*name, *bytes)).collect();
    let forms = [
        ("db1.tar", tar.clone()),
        ("db1.tar.gz", gzip_of(&tar)),
        ("db1.tar.bz2", bzip2_of(&tar)),
        (
            "db1.tbz",
            [bzip2_of(&tar[..1000]), bzip2_of(&tar[1000..])].concat(),
        ),
        ("db1.tar.xz", xz_of(&tar)),
        ("db1.tar.zst", zstd::bulk::compress(&tar, 3).expect("compressed")),
        ("db1.zip", zip_of(&zipped)),
        ("without-an-end", xz_of(&tar)),
    ];
    for (name, bytes) in forms {
        let path = directory.path().join(name);
        fs::write(&path, bytes).expect("written");
        let tree = open(&path).expect(name);
        let [snapshot] = tree.snapshots.as_slice() else {
            panic!("{name}: {:?}", tree.snapshots);
        };
        let vmstat = fs::read_to_string(snapshot.root.join("proc/vmstat")).expect("there");
        assert_eq!(vmstat, "pgfault 7\n", "{name}");
        assert_eq!(snapshot.boottime_ns, Some(12_500_000_000), "{name}");
        assert_eq!(tree.name, "sosreport-db1");
        if name != "db1.zip" {
            assert_eq!(
                snapshot.wall_ns, 1_795_000_000_000_000_000,
                "{name}: when it was collected"
            );
        }
    }
}

#[test]
fn several_roots_are_not_taken_for_one_host() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("two.tar");
    let members: [(tar::EntryType, &str, &[u8]); 2] = [
        (FILE, "db1/proc/vmstat", b"a 1\n"),
        (FILE, "db2/proc/vmstat", b"a 2\n"),
    ];
    fs::write(&path, tar_of(&members)).expect("written");
    let problem = open(&path).expect_err("refused").problem;
    assert!(matches!(problem, TreeProblem::SeveralRoots(2)), "{problem}");
}

#[test]
fn names_are_bounded_before_they_are_read() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("names.tar");
    let refused = |members: &[(tar::EntryType, &str, &[u8])]| {
        fs::write(&path, tar_of(members)).expect("written");
        open(&path).expect_err("refused").problem
    };
    let long = vec![b'a'; 1 << 20];
    for kind in [
        tar::EntryType::GNULongName,
        tar::EntryType::GNULongLink,
        tar::EntryType::XHeader,
        tar::EntryType::XGlobalHeader,
    ] {
        let problem = refused(&[
            (kind, "././@LongLink", &long),
            (FILE, "1000/proc/vmstat", b"a 1\n"),
        ]);
        assert!(
            matches!(
                problem,
                TreeProblem::TooLarge {
                    what: "bytes in one name",
                    ..
                }
            ),
            "{kind:?}: {problem}"
        );
    }
    let deep = format!("1000/proc/{}x", "d/".repeat(100));
    let problem = refused(&[
        (tar::EntryType::GNULongName, "././@LongLink", deep.as_bytes()),
        (FILE, "x", b""),
    ]);
    assert!(
        matches!(
            problem,
            TreeProblem::TooLarge {
                what: "levels of directories",
                ..
            }
        ),
        "{problem}"
    );
    // What is long and allowed keeps its name, in either form.
    let name = format!("1000/proc/{}", "n".repeat(150));
    let pax = format!("{} path={name}\n", name.len() + 10);
    for record in [
        (tar::EntryType::GNULongName, name.as_bytes()),
        (tar::EntryType::XHeader, pax.as_bytes()),
    ] {
        let members = [
            (record.0, "././@LongLink", record.1),
            (FILE, "short", &b"a 1\n"[..]),
        ];
        fs::write(&path, tar_of(&members)).expect("written");
        let tree = open(&path).expect("readable");
        assert!(
            tree.snapshots[0].root.join(&name["1000/".len()..]).is_file(),
            "{record:?}"
        );
    }
}

#[test]
fn every_member_counts() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("many.tar");
    let limits = Limits {
        files: 100,
        ..Limits::default()
    };
    for kind in [
        tar::EntryType::Directory,
        tar::EntryType::Symlink,
        tar::EntryType::XGlobalHeader,
    ] {
        let members: Vec<(tar::EntryType, &str, &[u8])> =
            (0..101).map(|_| (kind, "1000", &b""[..])).collect();
        fs::write(&path, tar_of(&members)).expect("written");
        let problem = open_with(&path, limits).expect_err("refused").problem;
        assert!(
            matches!(problem, TreeProblem::TooLarge { what: "files", .. }),
            "{kind:?}: {problem}"
        );
    }
    let names: Vec<String> = (0..10)
        .map(|number| format!("1000/{number}/{}x", "d/".repeat(30)))
        .collect();
    let members: Vec<(tar::EntryType, &str, &[u8])> =
        names.iter().map(|name| (FILE, name.as_str(), &b""[..])).collect();
    fs::write(&path, tar_of(&members)).expect("written");
    let problem = open_with(&path, limits).expect_err("refused").problem;
    assert!(
        matches!(
            problem,
            TreeProblem::TooLarge {
                what: "directories",
                ..
            }
        ),
        "{problem}"
    );
}

#[test]
fn a_member_that_inflates_beyond_what_it_announces_is_bounded() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("bomb.zip");
    let zeros = vec![0; 4 << 20];
    fs::write(&path, zip_of(&[("1000/proc/vmstat", &zeros)])).expect("written");
    let limits = Limits {
        file_bytes: 1 << 20,
        ..Limits::default()
    };
    let problem = open_with(&path, limits).expect_err("refused").problem;
    assert!(matches!(problem, TreeProblem::TooLarge { .. }), "{problem}");
    fs::write(&path, zip_of(&[("../evil", b"x")])).expect("written");
    let problem = open(&path).expect_err("refused").problem;
    assert!(matches!(problem, TreeProblem::Escapes(_)), "{problem}");
}

#[test]
fn a_report_of_supportconfig_is_a_root() {
    let directory = TempDir::new().expect("a directory");
    let text: &[u8] = b"#==[ Command ]=====#\n# /bin/uname -a\nLinux node7 6.4.0 #1 SMP\n\n#==[ Command ]====#\n# /bin/cat /proc/vmstat\npgfault 7\n\n";
    let members: [(tar::EntryType, &str, &[u8]); 2] = [
        (FILE, "scc_node7_261128/basic-environment.txt", text),
        (
            FILE,
            "scc_node7_261128/memory.txt",
            b"#==[ Configuration File ]===#\n# /proc/meminfo\nMemTotal: 4 kB\n",
        ),
    ];
    let path = directory.path().join("scc_node7_261128.txz");
    fs::write(&path, xz_of(&tar_of(&members))).expect("written");
    let unpacked = directory.path().join("scc");
    for (_, name, bytes) in members {
        write(&unpacked.join(name), std::str::from_utf8(bytes).expect("text"));
    }
    for path in [path, unpacked] {
        let tree = open(&path).expect("readable");
        let root = &tree.snapshots[0].root;
        let read = |name: &str| fs::read_to_string(root.join(name)).expect(name);
        assert_eq!(read("proc/sys/kernel/hostname"), "node7\n");
        assert_eq!(read("proc/vmstat"), "pgfault 7\n");
        assert_eq!(read("proc/meminfo"), "MemTotal: 4 kB\n");
        assert_eq!(tree.name, "scc_node7_261128");
    }
}
