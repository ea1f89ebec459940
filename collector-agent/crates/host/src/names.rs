//! How names of executables may leave the host.
//!
//! Executables under `/usr`, `/lib`, `/opt`, `/bin` and `/sbin` travel by base name. All others travel as a keyed hash of
//! their path, unless the owner lists them. The key is the fleet's if one is configured (so that hosts agree on the
//! hash), else it is made from the host's machine id. The service has neither.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tierscope_procfs::process;
use tierscope_rootfs::Reader;
use tierscope_sample::service::matches_glob;

/// How names of executables and mapped files leave the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Names {
    /// A secret of the fleet, so that all its hosts hash a path alike; without it the key is this host's own.
    pub key_file: Option<PathBuf>,
    /// Patterns for paths that travel by base name although they lie elsewhere than software packages.
    pub allow: Vec<String>,
}

/// Places whose file names are those of software packages.
const PACKAGED: [&str; 9] = [
    "/usr/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/opt/", "/bin/", "/sbin/", "/snap/",
];
/// Fewest bytes of a fleet's key: shorter ones can be guessed.
const MIN_KEY_BYTES: usize = 16;
/// Permission bits of those who are neither owner nor group.
const EVERYBODY: u32 = 0o007;
/// Hexadecimal digits of a hashed name.
const HASH_DIGITS: usize = 12;

/// The policy of one host.
#[derive(Debug, Clone)]
pub struct NamePolicy {
    key: Vec<u8>,
    allowed: Vec<String>,
    plain: bool,
}

impl NamePolicy {
    /// Hashes with the fleet's key; `allowed` are patterns (`*`, `?`) of paths that travel by base name.
    pub fn with_fleet_key(key: &[u8], allowed: Vec<String>) -> Self {
        Self {
            key: key.to_vec(),
            allowed,
            plain: false,
        }
    }

    /// The policy of the agent's settings: the fleet's key where one is named, else this host's own.
    pub fn of_settings(reader: &mut Reader, names: &Names) -> Result<Self> {
        match &names.key_file {
            None => Ok(Self::for_host(reader, names.allow.clone())),
            Some(path) => Ok(Self::with_fleet_key(&read_key(path)?, names.allow.clone())),
        }
    }

    /// Hashes with a key of this host, made from its machine id, which never travels itself. Without a machine id the
    /// key is random, and hashed names change when the agent starts again.
    pub fn for_host(reader: &mut Reader, allowed: Vec<String>) -> Self {
        let machine_id = reader.value("/etc/machine-id").map(str::to_owned);
        let secret = machine_id.unwrap_or_else(|_| {
            let mut random = [0_u8; 16];
            // Without randomness the names stay hidden all the same, only guessable by trying paths.
            let _filled = getrandom::fill(&mut random);
            format!("{random:?}")
        });
        Self {
            key: Sha256::digest(format!("tierscope names {secret}")).to_vec(),
            allowed,
            plain: false,
        }
    }

    /// Names as they are: for recordings made to be shown, and for output that stays on the host.
    pub fn plain() -> Self {
        Self {
            key: Vec::new(),
            allowed: Vec::new(),
            plain: true,
        }
    }

    /// The name of a process group: the executable as it may travel. `comm` serves where the path is not known.
    pub fn group(&self, exe: Option<&str>, comm: &str) -> String {
        let path = exe.unwrap_or(comm);
        let base = path.rsplit('/').next().unwrap_or(path);
        let packaged = PACKAGED.iter().any(|place| path.starts_with(place)) && !path.contains("/../");
        let listed = || self.allowed.iter().any(|pattern| matches_glob(pattern, path));
        if self.plain || packaged || listed() {
            return base.to_owned();
        }
        let mut hasher = Sha256::new();
        hasher.update((self.key.len() as u64).to_le_bytes());
        hasher.update(&self.key);
        hasher.update(path.as_bytes());
        let hash = hasher.finalize();
        let digits: String = hash
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(hex_digit)
            .collect();
        format!("x-{}", &digits[..HASH_DIGITS])
    }

    /// As [`NamePolicy::group`], for a process that is still to be looked at.
    pub fn group_of(
        &self,
        reader: &mut Reader,
        pid: u32,
        comm: &str,
        cmdline: &str,
    ) -> (Option<String>, String) {
        let exe = process::executable(reader, pid, cmdline);
        let called = exe
            .as_deref()
            .and_then(|exe| called_by_link(reader, pid, exe, comm));
        let group = self.group(called.as_deref().or(exe.as_deref()), comm);
        (exe, group)
    }
}

/// The path of the link by which a program of many names was called: `redis-server` may be a link to
/// `redis-check-rdb`, which is not what it does. `None` where it was called by its own name. A version (`python3` for
/// `python3.11`) is no other name.
fn called_by_link(reader: &Reader, pid: u32, exe: &str, comm: &str) -> Option<String> {
    let (directory, base) = exe.rsplit_once('/')?;
    if base.starts_with(comm) || comm.contains('/') {
        return None;
    }
    let link = format!("{directory}/{comm}");
    // As the process sees it, which may live in a container.
    let target = reader.link(&format!("/proc/{pid}/root{link}")).ok()?;
    (target.file_name()? == base).then_some(link)
}

/// The secret in a file, without blanks around it.
fn read_key(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    let text = std::fs::read(path).with_context(|| format!("`names.key_file`: {shown} cannot be read"))?;
    let mode = std::fs::metadata(path)?.permissions().mode();
    ensure!(
        mode & EVERYBODY == 0,
        "`names.key_file`: {shown} can be read by everybody; run `chmod 600 {shown}`"
    );
    let key = text.trim_ascii();
    ensure!(
        key.len() >= MIN_KEY_BYTES,
        "`names.key_file`: {shown} holds fewer than {MIN_KEY_BYTES} bytes; make a key with `openssl rand -hex 32`"
    );
    Ok(key.to_vec())
}

fn hex_digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packaged_and_listed_names_travel_and_others_are_hashed() {
        let policy = NamePolicy::with_fleet_key(b"key", vec!["/srv/*/search".into()]);
        assert_eq!(
            policy.group(Some("/usr/bin/redis-server"), "redis"),
            "redis-server"
        );
        assert_eq!(policy.group(Some("/srv/shop/search"), "search"), "search");
        let hidden = policy.group(Some("/home/ann/secret-project"), "secret-project");
        assert!(
            hidden.starts_with("x-") && hidden.len() == 2 + HASH_DIGITS,
            "{hidden}"
        );
        assert!(policy.group(None, "secret").starts_with("x-"));
    }

    #[test]
    fn hashes_agree_with_the_key_and_differ_without_it() {
        let group = |key: &[u8]| NamePolicy::with_fleet_key(key, Vec::new()).group(Some("/home/ann/a"), "a");
        assert_eq!(group(b"one"), group(b"one"));
        assert_ne!(group(b"one"), group(b"two"));
    }

    #[test]
    fn the_fleets_key_comes_from_a_private_file() {
        let root = crate::fake_root::FakeRoot::new();
        let file = tempfile::NamedTempFile::new().expect("a file");
        let names = Names {
            key_file: Some(file.path().to_owned()),
            allow: Vec::new(),
        };
        let policy = || NamePolicy::of_settings(&mut Reader::new(root.root()), &names);
        std::fs::write(file.path(), "short\n").expect("written");
        assert!(policy().expect_err("too short").to_string().contains("openssl"));
        std::fs::write(file.path(), "0123456789abcdef0123456789abcdef\n").expect("written");
        let expected = NamePolicy::with_fleet_key(b"0123456789abcdef0123456789abcdef", Vec::new());
        let path = Some("/home/ann/a");
        assert_eq!(
            policy().expect("right").group(path, "a"),
            expected.group(path, "a")
        );
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).expect("changed");
        assert!(
            policy()
                .expect_err("open to all")
                .to_string()
                .contains("chmod 600")
        );
    }

    #[test]
    fn a_program_of_many_names_is_called_as_it_was_called() {
        use std::os::unix::fs::symlink;
        let root = crate::fake_root::FakeRoot::new();
        let called = |pid: u32, exe: &str, comm: &str, link: Option<(&str, &str)>| {
            root.write(&format!("proc/{pid}/comm"), comm);
            symlink(exe, root.root().join(&format!("/proc/{pid}/exe"))).expect("linked");
            if let Some((name, target)) = link {
                let directory = root.root().join(&format!("/proc/{pid}/root/usr/bin"));
                std::fs::create_dir_all(&directory).expect("made");
                symlink(target, directory.join(name)).expect("linked");
            }
            let policy = NamePolicy::with_fleet_key(b"key", Vec::new());
            policy.group_of(&mut Reader::new(root.root()), pid, comm, comm).1
        };
        let check = "/usr/bin/redis-check-rdb";
        assert_eq!(
            called(
                1,
                check,
                "redis-server",
                Some(("redis-server", "redis-check-rdb"))
            ),
            "redis-server"
        );
        assert_eq!(
            called(2, check, "redis-server", Some(("redis-server", check))),
            "redis-server"
        );
        assert_eq!(
            called(3, check, "worker", None),
            "redis-check-rdb",
            "a title is no link"
        );
        assert_eq!(
            called(4, check, "redis-server", Some(("redis-server", "other"))),
            "redis-check-rdb"
        );
        let python = "/usr/bin/python3.11";
        assert_eq!(
            called(5, python, "python3", Some(("python3", "python3.11"))),
            "python3.11"
        );
    }

    #[test]
    fn a_path_that_climbs_out_of_usr_or_only_begins_alike_is_hashed() {
        let policy = NamePolicy::with_fleet_key(b"key", Vec::new());
        assert_eq!(policy.group(Some("/lib64/ld-linux.so"), "ld"), "ld-linux.so");
        for elsewhere in ["/library/ann/a", "/libexec-of-ann/a", "/lib", "/optional/a"] {
            assert!(
                policy.group(Some(elsewhere), "a").starts_with("x-"),
                "{elsewhere}"
            );
        }
        assert!(policy.group(Some("/usr/../home/ann/a"), "a").starts_with("x-"));
    }
}
