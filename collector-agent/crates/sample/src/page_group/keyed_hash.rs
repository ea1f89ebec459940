//! SipHash-2-4 of whole words: page ids that say nothing without the key.

/// The hash of the little-endian bytes of `words` under `key`.
pub(super) fn keyed_hash(key: [u64; 2], words: &[u64]) -> u64 {
    let mut state = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let length = (words.len() as u64 * 8) << 56;
    for word in words.iter().chain([&length]) {
        state[3] ^= word;
        round(&mut state);
        round(&mut state);
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

#[inline]
fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

/// Text as words: its length, then its bytes, the last word filled up with zeros.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = u64> {
    let word = |bytes: &[u8]| {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(whole)
    };
    std::iter::once(text.len() as u64).chain(text.as_bytes().chunks(8).map(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_the_published_ones() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(keyed_hash(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(keyed_hash(key, &[0x0706_0504_0302_0100]), 0x93f5_f579_9a93_2462);
        let two = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(keyed_hash(key, &two), 0x3f2a_cc7f_57c2_9bdb);
    }

    #[test]
    fn texts_that_differ_have_different_words() {
        let words = |text| words_of(text).collect::<Vec<_>>();
        assert_eq!(words("abcdefghi"), [9, 0x6867_6665_6463_6261, 0x69]);
        assert_ne!(words("a"), words("a\0"));
    }
}
