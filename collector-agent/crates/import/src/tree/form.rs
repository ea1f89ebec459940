//! How an archive is packed, by its first bytes.

/// Bytes of a file in which its form shows: that of tar stands at 257.
pub(crate) const HEAD_BYTES: usize = 512;

/// How the members are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Zstd,
    Gzip,
    Xz,
    Tar,
    Zip,
}

/// The form of a file that begins with `head`; `None` for what is no archive.
pub(crate) fn form_of(head: &[u8]) -> Option<Form> {
    const MAGIC: [(&[u8], Form); 5] = [
        (&[0x28, 0xb5, 0x2f, 0xfd], Form::Zstd),
        (&[0x1f, 0x8b], Form::Gzip),
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
