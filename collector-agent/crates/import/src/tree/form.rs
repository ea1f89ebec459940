//! How an archive is packed, by its first bytes.

use std::fs::File;
use std::io::{self, Read};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;

/// Largest zstd window that is accepted, as a power of two: 128 MiB.
const WINDOW_LOG_MAX: u32 = 27;
/// Most memory that unpacking of xz may take: `xz -9` needs 65 MiB.
const XZ_MEMORY_KIB: u32 = 160 << 10;
/// Bytes of a file in which its form shows: that of tar stands at 257.
pub(crate) const HEAD_BYTES: usize = 512;

/// How the members are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Zstd,
    Gzip,
    Bzip2,
    Xz,
    Tar,
    Zip,
}

/// The form of a file that begins with `head`; `None` for what is no archive.
pub(crate) fn form_of(head: &[u8]) -> Option<Form> {
    const MAGIC: [(&[u8], Form); 6] = [
        (&[0x28, 0xb5, 0x2f, 0xfd], Form::Zstd),
        (&[0x1f, 0x8b], Form::Gzip),
        (b"BZh", Form::Bzip2),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], Form::Xz),
        (b"PK\x03\x04", Form::Zip),
        (b"PK\x05\x06", Form::Zip),
    ];
    let packed = MAGIC.iter().find(|(magic, _)| head.starts_with(magic));
    let is_tar = || head.get(257..262) == Some(b"ustar") || is_old_tar(head);
    packed
        .map(|(_, form)| *form)
        .or_else(|| is_tar().then_some(Form::Tar))
}

/// What a file holds that is packed so; that of a tar or a zip is the file itself.
pub(crate) fn unpacked(form: Form, file: File) -> io::Result<Box<dyn Read>> {
    Ok(match form {
        Form::Tar | Form::Zip => Box::new(file),
        Form::Gzip => Box::new(MultiGzDecoder::new(file)),
        Form::Bzip2 => Box::new(MultiBzDecoder::new(file)),
        Form::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(file, true, XZ_MEMORY_KIB)),
        Form::Zstd => {
            let mut inflated = zstd::stream::read::Decoder::new(file)?;
            inflated.window_log_max(WINDOW_LOG_MAX)?;
            Box::new(inflated)
        }
    })
}

/// Whether the first bytes of what is packed may begin a tar: they do, or it is an empty one, or there are none.
pub(crate) fn may_be_tar(head: &[u8]) -> bool {
    form_of(head) == Some(Form::Tar) || head.iter().all(|byte| *byte == 0)
}

/// Whether a header has the checksum of tar: the first tar had no magic.
fn is_old_tar(head: &[u8]) -> bool {
    let Some((header, checksum)) = head.first_chunk::<512>().zip(head.get(148..156)) else {
        return false;
    };
    let digits: String = checksum.iter().map(|byte| char::from(*byte)).collect();
    let digits = digits.trim_matches([' ', '\0']);
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            if (148..156).contains(&at) {
                32
            } else {
                u64::from(*byte)
            }
        })
        .sum();
    header[0] != 0 && u64::from_str_radix(digits, 8) == Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_by_content() {
        let mut header = tar::Header::new_old();
        header.set_size(0);
        assert!(header.set_path("proc/vmstat").is_ok());
        header.set_cksum();
        assert_eq!(form_of(header.as_bytes()), Some(Form::Tar));
        assert_eq!(form_of(&[0; 512]), None);
        assert_eq!(form_of(b""), None);
        assert_eq!(form_of(b"PK\x03\x04"), Some(Form::Zip));
        assert_eq!(form_of(b"time,addr\n1,2\n"), None);
    }
}
