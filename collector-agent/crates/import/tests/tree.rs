//! Snapshot trees as directories and archives, from friends and from others.

use std::fs;
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
    assert!(matches!(
        open(&text).expect_err("refused").problem,
        TreeProblem::Archive(_)
    ));
    assert!(matches!(
        open(Path::new("/does/not/exist")).expect_err("refused").problem,
        TreeProblem::Open(_)
    ));
}
