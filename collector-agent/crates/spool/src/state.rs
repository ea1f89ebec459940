//! What the spool remembers besides its records: text of constant length, with a checksum in its last line.

use std::collections::HashMap;
use std::fmt::Write as _;

/// What must survive a restart besides the records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct State {
    pub(crate) stream_id: [u8; 16],
    /// Of the machine that made the stream.
    pub(crate) identity: String,
    /// All sequence numbers below it are done with.
    pub(crate) acked_below: u64,
    /// No sequence number below it may be given out again.
    pub(crate) seq_floor: u64,
    /// Only sequence numbers below it were ever given out.
    pub(crate) reserved_below: u64,
    pub(crate) dropped: u64,
    pub(crate) damaged: u64,
    pub(crate) rejected: u64,
    pub(crate) sent_bytes: u64,
}

impl State {
    /// The text; the state with the highest `generation` is the newest.
    pub(crate) fn encode(&self, generation: u64) -> Vec<u8> {
        let mut text = String::with_capacity(512);
        let stream_id = u128::from_be_bytes(self.stream_id);
        let identity: String = self
            .identity
            .chars()
            .filter(|letter| !letter.is_control())
            .collect();
        let _ = writeln!(text, "stream_id={stream_id:032x}\nidentity={identity}");
        let numbers = [
            ("generation", generation),
            ("acked_below", self.acked_below),
            ("seq_floor", self.seq_floor),
            ("reserved_below", self.reserved_below),
            ("dropped", self.dropped),
            ("damaged", self.damaged),
            ("rejected", self.rejected),
            ("sent_bytes", self.sent_bytes),
        ];
        for (name, value) in numbers {
            let _ = writeln!(text, "{name}={value:020}");
        }
        let checksum = crc32fast::hash(text.as_bytes());
        let _ = writeln!(text, "crc32={checksum:08x}");
        text.into_bytes()
    }

    /// Reads the text, whatever follows it, with its generation; `None` when it is damaged.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(u64, Self)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (body, rest) = text.split_at(text.find("\ncrc32=")? + 1);
        let (checksum, _) = rest.strip_prefix("crc32=")?.split_once('\n')?;
        if u32::from_str_radix(checksum, 16).ok()? != crc32fast::hash(body.as_bytes()) {
            return None;
        }
        let fields: HashMap<&str, &str> = body.lines().filter_map(|line| line.split_once('=')).collect();
        let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
        let state = Self {
            stream_id: u128::from_str_radix(fields.get("stream_id")?, 16)
                .ok()?
                .to_be_bytes(),
            identity: (*fields.get("identity")?).to_owned(),
            acked_below: number("acked_below")?,
            seq_floor: number("seq_floor")?,
            reserved_below: number("reserved_below")?,
            dropped: number("dropped")?,
            damaged: number("damaged")?,
            rejected: number("rejected")?,
            sent_bytes: number("sent_bytes")?,
        };
        Some((number("generation")?, state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_and_a_flipped_bit_is_noticed() {
        let state = State {
            stream_id: [0x0f; 16],
            identity: "abc=1".to_owned(),
            acked_below: 7,
            seq_floor: 9,
            reserved_below: 10,
            dropped: 1,
            damaged: 2,
            rejected: 3,
            sent_bytes: 4,
        };
        let bytes = state.encode(5);
        assert_eq!(
            bytes.len(),
            State {
                acked_below: u64::MAX,
                ..state.clone()
            }
            .encode(6)
            .len()
        );
        assert_eq!(State::decode(&bytes), Some((5, state.clone())));
        let longer_before = [&bytes[..], b"1\ncrc32=00000000\n"].concat();
        assert_eq!(State::decode(&longer_before), Some((5, state)));
        for index in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[index] ^= 1;
            assert_eq!(State::decode(&flipped), None, "byte {index}");
        }
    }
}
