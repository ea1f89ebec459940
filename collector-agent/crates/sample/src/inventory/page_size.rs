//! Sizes of base pages: what says that of a host, and the unit of models. Nothing else in the agent knows a size by
//! itself (`tests/architecture/test_page_size.py`).

use std::collections::BTreeMap;

/// The unit of page traces and models, and the only base page of x86, s390x and riscv64.
pub const MODEL_BYTES: u64 = 4096;
/// No kernel that tiers memory has larger base pages: whatever is larger is a huge page.
pub const LARGEST_BYTES: u64 = 65536;
/// Fewer pages than these are no measure of their size.
const PAGES_MIN: i64 = 64;
/// How far the binary logarithm of a ratio may be from a whole number: two files are read one after the other.
const NEAR: f64 = 0.3;
/// So many amounts that agree go before what the architecture could have.
const UNANIMOUS: usize = 3;

/// One amount of memory that the kernel prints in bytes and in pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// Where both stand, such as `MemFree of /proc/meminfo over nr_free_pages of /proc/vmstat`.
    pub what: String,
    /// In bytes.
    pub bytes: i64,
    /// In base pages.
    pub pages: i64,
}

/// The bytes of a base page, and what says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSize {
    /// A power of two.
    pub bytes: u32,
    /// In words.
    pub evidence: String,
}

/// The page size that amounts tell, else the names of the kernel; `None` where nothing does, or amounts contradict each
/// other. The service has the same rule (`backend/tierscope/domain/base/page_size.py`).
pub fn find(amounts: &[Amount], release: &str, architecture: &str) -> Option<PageSize> {
    let mut told: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for amount in amounts {
        if let Some(bytes) = size_of(amount) {
            told.entry(bytes).or_default().push(&amount.what);
        }
    }
    let counted = |(bytes, what): (&u32, &Vec<&str>)| PageSize {
        bytes: *bytes,
        evidence: what.first().copied().unwrap_or_default().to_owned(),
    };
    if told.len() == 1 && told.values().all(|what| what.len() >= UNANIMOUS) {
        return told.iter().next().map(counted);
    }
    if has_one_size(architecture) {
        return Some(PageSize {
            bytes: MODEL_BYTES as u32,
            evidence: format!("{architecture} has no other"),
        });
    }
    told.retain(|bytes, _| possible(architecture).contains(bytes));
    match told.len() {
        0 => named(release, architecture),
        1 => told.iter().next().map(counted),
        _ => None,
    }
}

/// The nearest power of two of a ratio, `None` where it is near to none.
fn size_of(amount: &Amount) -> Option<u32> {
    if amount.bytes <= 0 || amount.pages < PAGES_MIN {
        return None;
    }
    let power = (amount.bytes as f64 / amount.pages as f64).log2();
    let whole = power.round();
    let is_near = (power - whole).abs() <= NEAR && (0.0..31.0).contains(&whole);
    // In the range of the shift.
    is_near.then(|| 1_u32 << whole as u32)
}

fn has_one_size(architecture: &str) -> bool {
    matches!(
        architecture,
        "x86_64" | "x86" | "i386" | "i586" | "i686" | "s390" | "s390x" | "riscv32" | "riscv64" | "arm"
    )
}

fn possible(architecture: &str) -> &'static [u32] {
    match architecture {
        "aarch64" | "arm64" => &[4096, 16384, 65536],
        "powerpc64" | "ppc64" | "ppc64le" => &[4096, 65536],
        _ => &[4096, 8192, 16384, 32768, 65536],
    }
}

fn named(release: &str, architecture: &str) -> Option<PageSize> {
    let of_release = |bytes: u32| PageSize {
        bytes,
        evidence: format!("kernel release {release}"),
    };
    if let Some(kib) = flavour(release) {
        return Some(of_release(kib << 10));
    }
    // Kernels of RHEL 7 and 8 for ARM have pages of 64 KiB; later releases name such a kernel.
    let el = release.ends_with(".aarch64") && [".el7", ".el8"].iter().any(|el| release.contains(el));
    if el && !release.contains("uek") {
        return Some(of_release(LARGEST_BYTES as u32));
    }
    let is_little = architecture == "ppc64le" || release.ends_with("ppc64le") || release.ends_with("ppc64el");
    is_little.then(|| PageSize {
        bytes: LARGEST_BYTES as u32,
        evidence: "the default of ppc64le".to_owned(),
    })
}

/// KiB of a release such as `5.14.0-427.el9.aarch64+64k`, `6.8.0-31-generic-64k` or `6.4.0-150600.21-64kb`.
fn flavour(release: &str) -> Option<u32> {
    release.split(['+', '-']).skip(1).find_map(|part| {
        let word = part
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()?
            .to_lowercase();
        match word.trim_end_matches('b').strip_suffix('k')? {
            "4" => Some(4),
            "16" => Some(16),
            "64" => Some(64),
            _ => None,
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    const GIB: i64 = 1 << 30;

    fn amount(bytes: i64, page: i64) -> Amount {
        Amount {
            what: "a over b".to_owned(),
            bytes,
            pages: bytes / page,
        }
    }

    fn bytes_of(amounts: &[Amount], release: &str, architecture: &str) -> Option<u32> {
        find(amounts, release, architecture).map(|size| size.bytes)
    }

    #[test]
    fn amounts_in_both_units_tell_to_the_nearest_power_of_two() {
        for page in [4096, 16384, 65536] {
            for read_later in [90, 100, 110] {
                let one = amount(64 * GIB / 100 * read_later, page * read_later / 100);
                assert_eq!(bytes_of(&[one], "6.8.0", "aarch64"), Some(page as u32));
            }
        }
        let between = amount(10 * GIB, 6000);
        assert_eq!(bytes_of(&[between], "6.8.0", "aarch64"), None);
        assert_eq!(
            bytes_of(&[amount(4096 * 60, 4096)], "6.8.0", "aarch64"),
            None,
            "too few pages"
        );
    }

    #[test]
    fn names_tell_where_no_amount_does() {
        let cases = [
            ("5.14.0-427.el9.aarch64+64k", "aarch64", Some(65536)),
            ("6.12.95+64k.aarch64", "aarch64", Some(65536)),
            ("6.8.0-31-generic-64k", "aarch64", Some(65536)),
            ("6.4.0-150600.21-64kb", "aarch64", Some(65536)),
            ("6.8.10-402.asahi.fc40.aarch64+16k", "aarch64", Some(16384)),
            ("4.18.0-553.el8_10.aarch64", "aarch64", Some(65536)),
            ("5.4.17-2136.el8uek.aarch64", "aarch64", None),
            ("5.14.0-427.el9.ppc64le", "powerpc64", Some(65536)),
            ("5.14.0-427.el9.x86_64", "x86_64", Some(4096)),
            ("6.8.0-31-generic", "aarch64", None),
            ("", "", None),
        ];
        for (release, architecture, bytes) in cases {
            assert_eq!(bytes_of(&[], release, architecture), bytes, "{release}");
        }
    }

    #[test]
    fn contradictions_tell_nothing_and_many_that_agree_go_before_names() {
        let large = amount(64 * GIB, 65536);
        assert_eq!(
            bytes_of(&[large.clone(), amount(GIB, 4096)], "6.1-64k", "aarch64"),
            None
        );
        assert_eq!(
            bytes_of(std::slice::from_ref(&large), "6.1.0-amd64", "x86_64"),
            Some(4096),
            "a container's meminfo beside its host's vmstat"
        );
        let three = [large.clone(), large.clone(), large];
        assert_eq!(bytes_of(&three, "6.1.0-amd64", "x86_64"), Some(65536));
    }
}
