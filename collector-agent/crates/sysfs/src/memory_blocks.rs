//! `/sys/devices/system/memory`: the blocks in which memory comes and goes, and how many are offline.

use tierscope_rootfs::{Missing, Reader};

const MEMORY: &str = "/sys/devices/system/memory";
/// Most blocks whose state is read: 8 TiB in blocks of 2 GiB, or 512 GiB in blocks of 128 MiB.
const MAX_BLOCKS: usize = 4096;

/// Blocks of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Size of each in bytes.
    pub block_bytes: i64,
    /// Blocks that the kernel uses; `None` where they are not shown, or are more than are worth reading.
    pub online: Option<i64>,
    /// Blocks that the kernel knows and does not use; `None` likewise.
    pub offline: Option<i64>,
}

/// Counts the blocks by state, up to 4,096 of them.
pub fn read(reader: &mut Reader) -> Result<Blocks, Missing> {
    let size = reader.value(&format!("{MEMORY}/block_size_bytes"))?;
    let mut blocks = Blocks {
        block_bytes: i64::from_str_radix(size.trim_start_matches("0x"), 16).unwrap_or(0),
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
        match reader.value(&format!("{MEMORY}/{name}/state")) {
            Ok("online") => online += 1,
            Ok(_) => offline += 1,
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
            block_bytes: 0x800_0000,
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
            block_bytes: 0x800_0000,
            ..Blocks::default()
        };
        assert_eq!(read(&mut reader), Ok(expected));
    }
}
