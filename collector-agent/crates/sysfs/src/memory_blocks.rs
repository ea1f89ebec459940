//! `/sys/devices/system/memory`: the blocks in which memory comes and goes, and how many are offline.

use tierscope_rootfs::{Missing, ParseError, Reader};

const MEMORY: &str = "/sys/devices/system/memory";
const BLOCK_SIZE: &str = "/sys/devices/system/memory/block_size_bytes";
/// Most blocks whose state is read: 8 TiB in blocks of 2 GiB, or 512 GiB in blocks of 128 MiB.
const MAX_BLOCKS: usize = 4096;

/// Blocks of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Size of each in bytes; `None` where the host's word cannot be understood.
    pub block_bytes: Option<i64>,
    /// Blocks that the kernel uses; `None` where they are not shown, or are more than are worth reading.
    pub online: Option<i64>,
    /// Blocks that the kernel knows and does not use; `None` likewise.
    pub offline: Option<i64>,
}

/// Size of a memory block in bytes, which the kernel prints in hexadecimal; never 0.
pub(crate) fn block_bytes(reader: &mut Reader) -> Option<u64> {
    reader.parsed(BLOCK_SIZE, "not a hexadecimal number above 0", |text| {
        let bytes = u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        bytes.filter(|bytes| *bytes > 0)
    })
}

/// Counts the blocks by state, up to 4,096 of them.
pub fn read(reader: &mut Reader) -> Result<Blocks, Missing> {
    if let Err(Missing::Absent) = reader.value(BLOCK_SIZE) {
        return Err(Missing::Absent);
    }
    let mut blocks = Blocks {
        block_bytes: block_bytes(reader).and_then(|bytes| i64::try_from(bytes).ok()),
        ..Blocks::default()
    };
    let is_block = |name: &String| {
        name.strip_prefix("memory")
            .is_some_and(|rest| rest.parse::<u32>().is_ok())
    };
    let names: Vec<String> = reader.list(MEMORY)?.into_iter().filter(is_block).collect();
    if names.is_empty() || names.len() > MAX_BLOCKS {
        return Ok(blocks);
    }
    let (mut online, mut offline) = (0, 0);
    for name in names {
        let path = format!("{MEMORY}/{name}/state");
        match reader.value(&path) {
            Ok("online" | "going-offline") => online += 1,
            Ok("offline") => offline += 1,
            Ok(other) => {
                let problem = ParseError::new(1, other, "no state of a memory block");
                reader.note(&path, problem);
            }
            // A block that goes away meanwhile is neither.
            Err(_) => {}
        }
    }
    (blocks.online, blocks.offline) = (Some(online), Some(offline));
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    #[test]
    fn blocks_are_counted_by_state() {
        let (_directory, mut reader) = fake_root::reader(&[
            ("sys/devices/system/memory/block_size_bytes", "8000000\n"),
            ("sys/devices/system/memory/memory0/state", "online\n"),
            ("sys/devices/system/memory/memory33/state", "offline\n"),
            ("sys/devices/system/memory/power/control", "auto\n"),
        ]);
        let expected = Blocks {
            block_bytes: Some(0x800_0000),
            online: Some(1),
            offline: Some(1),
        };
        assert_eq!(read(&mut reader), Ok(expected));
    }

    #[test]
    fn a_recording_of_the_size_alone_has_no_counts() {
        let (_directory, mut reader) =
            fake_root::reader(&[("sys/devices/system/memory/block_size_bytes", "8000000\n")]);
        let expected = Blocks {
            block_bytes: Some(0x800_0000),
            ..Blocks::default()
        };
        assert_eq!(read(&mut reader), Ok(expected));
    }
}
