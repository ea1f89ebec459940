//! BTF, the kernel's description of its own types: where a member of a structure lies, and the ids of functions.

/// The layout of one kind of entry: bytes after its first 12, fixed and for each of its parts.
const fn extra_bytes(kind: u32) -> Option<(usize, usize)> {
    Some(match kind {
        INT | VAR | DECL_TAG => (4, 0),
        ARRAY => (12, 0),
        STRUCT | UNION | DATASEC | ENUM64 => (0, 12),
        ENUM | FUNC_PROTO => (0, 8),
        PTR | FWD | TYPEDEF | VOLATILE | CONST | RESTRICT | FUNC | FLOAT | TYPE_TAG => (0, 0),
        _ => return None,
    })
}

const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const FWD: u32 = 7;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const RESTRICT: u32 = 11;
const FUNC: u32 = 12;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const FLOAT: u32 = 16;
const DECL_TAG: u32 = 17;
const TYPE_TAG: u32 = 18;
const ENUM64: u32 = 19;

const MAGIC: u16 = 0xeb9f;
const HEADER_BYTES: usize = 24;
/// Unnamed structures within structures that are looked into.
const MAX_DEPTH: u32 = 8;

/// Why a description cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// It does not begin as one.
    #[error("not a type description of this byte order")]
    NotBtf,
    /// It ends too early.
    #[error("the type description is cut at byte {at_bytes}")]
    Cut {
        /// Where in the file.
        at_bytes: usize,
    },
    /// An entry of an unknown kind, whose length is unknown.
    #[error("type {id} has the unknown kind {kind}")]
    UnknownKind {
        /// Its id.
        id: u32,
        /// Its kind.
        kind: u32,
    },
}

/// A type description, such as `/sys/kernel/btf/vmlinux`.
#[derive(Debug)]
pub struct Btf<'a> {
    bytes: &'a [u8],
    strings: &'a [u8],
    /// Where each type begins in `bytes`; the first has id 1.
    types: Vec<u32>,
}

/// The first 12 bytes of a type.
#[derive(Debug, Clone, Copy)]
struct Type {
    at: usize,
    name: u32,
    info: u32,
}

impl Type {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn parts(self) -> usize {
        (self.info & 0xffff) as usize
    }

    /// Whether offsets of members have the width of a bit field in their upper byte.
    fn has_bit_fields(self) -> bool {
        self.info >> 31 != 0
    }
}

impl<'a> Btf<'a> {
    /// Reads the table of types. Costs some milliseconds for a kernel.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BtfError> {
        let magic = bytes.first_chunk().map(|magic| u16::from_ne_bytes(*magic));
        if magic != Some(MAGIC) {
            return Err(BtfError::NotBtf);
        }
        let header: [usize; 5] = {
            let mut words = [0; 5];
            for (index, word) in words.iter_mut().enumerate() {
                *word = word_at(bytes, 4 + 4 * index)? as usize;
            }
            words
        };
        let [header_bytes, types_at, types_bytes, strings_at, strings_bytes] = header;
        let section = |at: usize, length: usize| {
            let start = header_bytes.max(HEADER_BYTES).saturating_add(at);
            let range = start..start.saturating_add(length);
            bytes.get(range.clone()).map(|_| range).ok_or(BtfError::Cut {
                at_bytes: bytes.len(),
            })
        };
        let strings = &bytes[section(strings_at, strings_bytes)?];
        let range = section(types_at, types_bytes)?;
        let mut btf = Self {
            bytes: &bytes[..range.end],
            strings,
            types: Vec::new(),
        };
        let mut at = range.start;
        while at < range.end {
            btf.types.push(at as u32);
            at = btf.end_of(at)?;
        }
        Ok(btf)
    }

    /// The id of a function of the kernel.
    pub fn function(&self, name: &str) -> Option<u32> {
        self.find(FUNC, name).map(|(id, _)| id)
    }

    /// Where a member lies in a structure, in bytes, also inside its unnamed parts. `None` for bit fields.
    pub fn member_offset_bytes(&self, structure: &str, member: &str) -> Option<u32> {
        let (_, structure) = self.find(STRUCT, structure)?;
        let bits = self.member_bits(structure, member, MAX_DEPTH)?;
        (bits % 8 == 0).then_some(bits / 8)
    }

    fn member_bits(&self, structure: Type, member: &str, depth: u32) -> Option<u32> {
        for part in 0..structure.parts() {
            let at = structure.at + 12 + 12 * part;
            let (name, type_id, place) = (self.word(at)?, self.word(at + 4)?, self.word(at + 8)?);
            let bits = if structure.has_bit_fields() {
                place & 0x00ff_ffff
            } else {
                place
            };
            if self.is_named(name, member) {
                return Some(bits);
            }
            let inner = self
                .type_of(type_id)
                .filter(|inner| name == 0 && depth > 0 && matches!(inner.kind(), STRUCT | UNION));
            if let Some(found) = inner.and_then(|inner| self.member_bits(inner, member, depth - 1)) {
                return bits.checked_add(found);
            }
        }
        None
    }

    fn find(&self, kind: u32, name: &str) -> Option<(u32, Type)> {
        let ids = 1..=self.types.len() as u32;
        let types = ids.filter_map(|id| Some((id, self.type_of(id)?)));
        let mut found = types.filter(|(_, found)| found.kind() == kind && self.is_named(found.name, name));
        found.next()
    }

    fn type_of(&self, id: u32) -> Option<Type> {
        let at = *self.types.get((id as usize).checked_sub(1)?)? as usize;
        Some(Type {
            at,
            name: self.word(at)?,
            info: self.word(at + 4)?,
        })
    }

    fn end_of(&self, at: usize) -> Result<usize, BtfError> {
        let info = word_at(self.bytes, at + 4)?;
        let found = Type { at, name: 0, info };
        let (fixed, each) = extra_bytes(found.kind()).ok_or(BtfError::UnknownKind {
            id: self.types.len() as u32,
            kind: found.kind(),
        })?;
        let end = at + 12 + fixed + each * found.parts();
        if end > self.bytes.len() {
            return Err(BtfError::Cut { at_bytes: at });
        }
        Ok(end)
    }

    fn is_named(&self, offset: u32, name: &str) -> bool {
        let text = self.strings.get(offset as usize..).unwrap_or_default();
        text.strip_prefix(name.as_bytes())
            .is_some_and(|rest| rest.first() == Some(&0))
    }

    fn word(&self, at: usize) -> Option<u32> {
        word_at(self.bytes, at).ok()
    }
}

fn word_at(bytes: &[u8], at: usize) -> Result<u32, BtfError> {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map(|word| u32::from_ne_bytes(*word))
        .ok_or(BtfError::Cut { at_bytes: at })
}

/// The description of a program whose functions all return a number and take none: one static function for each name.
/// Their ids are 3, 4 and so on.
pub(crate) fn describe_functions(names: &[&str]) -> Vec<u8> {
    const STATIC: u32 = 0;
    let mut strings = b"\0int\0".to_vec();
    let mut types: Vec<u32> = vec![1, INT << 24, 4, 32 | 1 << 24, 0, FUNC_PROTO << 24, 1];
    for name in names {
        types.extend([strings.len() as u32, FUNC << 24 | STATIC, 2]);
        strings.extend_from_slice(name.as_bytes());
        strings.push(0);
    }
    let types_bytes = 4 * types.len() as u32;
    let mut bytes = MAGIC.to_ne_bytes().to_vec();
    bytes.extend([1, 0]);
    let header = [
        HEADER_BYTES as u32,
        0,
        types_bytes,
        types_bytes,
        strings.len() as u32,
    ];
    for word in header.iter().chain(&types) {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(strings);
    bytes
}

/// Id of the first function of [`describe_functions`].
pub(crate) const FIRST_FUNCTION_ID: u32 = 3;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// `struct task { long first; struct { union { void *other; void *mm; }; }; int flag:3; }`
    fn example() -> Vec<u8> {
        let strings = b"\0int\0task\0first\0mm\0flag\0other\0release\0";
        let types = [
            vec![1, INT << 24, 4, 32],
            // 2: `other` and `mm`.
            vec![0, UNION << 24 | 2, 8, 24, 1, 0, 16, 1, 0],
            // 3: the union.
            vec![0, STRUCT << 24 | 1, 16, 0, 2, 64],
            // 4: `first`, the structure, and `flag` with its width.
            vec![
                5,
                STRUCT << 24 | 3 | 1 << 31,
                32,
                10,
                1,
                0,
                0,
                3,
                64,
                19,
                1,
                3 << 24 | 0xc1,
            ],
            vec![0, FUNC_PROTO << 24, 0],
            vec![30, FUNC << 24, 5],
        ]
        .concat();
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        let types_bytes = 4 * types.len() as u32;
        for word in [24, 0, types_bytes, types_bytes, strings.len() as u32]
            .iter()
            .chain(&types)
        {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_are_found_inside_unnamed_parts() {
        let bytes = example();
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.member_offset_bytes("task", "first"), Some(0));
        assert_eq!(btf.member_offset_bytes("task", "mm"), Some(16));
        assert_eq!(btf.member_offset_bytes("task", "flag"), None, "a bit field");
        assert_eq!(btf.member_offset_bytes("task", "none"), None);
        assert_eq!(btf.member_offset_bytes("tas", "mm"), None);
        assert_eq!((btf.function("release"), btf.function("task")), (Some(6), None));
    }

    #[test]
    fn a_cut_or_foreign_description_is_refused() {
        let bytes = example();
        assert_eq!(Btf::parse(b"text").err(), Some(BtfError::NotBtf));
        assert_eq!(Btf::parse(&[]).err(), Some(BtfError::NotBtf));
        for length in 2..bytes.len() {
            assert!(matches!(Btf::parse(&bytes[..length]), Err(BtfError::Cut { .. })));
        }
        let mut unknown = bytes;
        unknown[24 + 7] = 31;
        assert_eq!(
            Btf::parse(&unknown).err(),
            Some(BtfError::UnknownKind { id: 1, kind: 31 })
        );
    }

    #[test]
    fn a_structure_that_holds_itself_ends() {
        let mut bytes = example();
        // The member of type 3 becomes type 3 itself.
        let member_type = 24 + 4 * (4 + 9 + 4);
        bytes[member_type..member_type + 4].copy_from_slice(&3_u32.to_ne_bytes());
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.member_offset_bytes("task", "mm"), None);
    }

    #[test]
    fn own_functions_have_the_promised_ids() {
        let bytes = describe_functions(&["walk", "step"]);
        let btf = Btf::parse(&bytes).unwrap();
        assert_eq!(btf.function("walk"), Some(FIRST_FUNCTION_ID));
        assert_eq!(btf.function("step"), Some(FIRST_FUNCTION_ID + 1));
    }
}
