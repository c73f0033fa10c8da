//! Finds bytes of a set in a text, sixteen at a time in a component.

/// A set of bytes, to be made at compile time.
///
/// ```
/// use trawl_sdk::scan::ByteSet;
///
/// const MARKUP: ByteSet = ByteSet::of(b"<&");
///
/// assert_eq!(MARKUP.find("a < b".as_bytes(), 0), Some(2));
/// assert_eq!(MARKUP.find("a < b".as_bytes(), 3), None);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ByteSet {
    has: [bool; 256],
    /// For each low half of a byte, the groups of high halves with which it is in the set.
    #[allow(dead_code, reason = "only components and tests look bytes up by rows")]
    low: [u8; 16],
    /// For each high half, its group as a bit. High halves with the same low halves share a group.
    #[allow(dead_code, reason = "only components and tests look bytes up by rows")]
    high: [u8; 16],
}

impl ByteSet {
    /// The set of these bytes.
    ///
    /// # Panics
    /// If the set is too irregular: if its bytes, in a table of sixteen columns, have more than
    /// eight different rows. A set of ASCII bytes never is.
    pub const fn of(bytes: &[u8]) -> Self {
        let mut has = [false; 256];
        let mut at = 0;
        while at < bytes.len() {
            has[bytes[at] as usize] = true;
            at += 1;
        }
        Self::of_table(has)
    }

    /// The set of the bytes whose entry is `true`.
    ///
    /// # Panics
    /// As [`of`](Self::of).
    pub const fn of_table(has: [bool; 256]) -> Self {
        let (mut low, mut high) = ([0; 16], [0; 16]);
        let mut rows = [0_u16; 8];
        let mut n_rows = 0;
        let mut row = 0;
        while row < 16 {
            let mut columns = 0_u16;
            let mut column = 0;
            while column < 16 {
                columns |= (has[row * 16 + column] as u16) << column;
                column += 1;
            }
            if columns != 0 {
                let mut group = 0;
                while group < n_rows && rows[group] != columns {
                    group += 1;
                }
                assert!(group < 8, "the set has too many different rows");
                if group == n_rows {
                    rows[group] = columns;
                    n_rows += 1;
                }
                high[row] = 1 << group;
                column = 0;
                while column < 16 {
                    low[column] |= ((columns >> column & 1) as u8) << group;
                    column += 1;
                }
            }
            row += 1;
        }
        Self { has, low, high }
    }

    /// Whether the set contains `byte`.
    #[inline]
    pub const fn has(&self, byte: u8) -> bool {
        self.has[byte as usize]
    }

    /// Position of the first byte in the set at or after `from`.
    #[inline]
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let found = self.find_or_end(bytes, from);
        (found < bytes.len()).then_some(found)
    }

    /// Like [`find`](Self::find), but the length of `bytes` if there is none.
    #[inline]
    pub fn find_or_end(&self, bytes: &[u8], from: usize) -> usize {
        let mut at = from;
        #[cfg(target_arch = "wasm32")]
        while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            let found = self.bits(chunk);
            if found != 0 {
                return at + found.trailing_zeros() as usize;
            }
            at += 16;
        }
        #[cfg(target_arch = "wasm32")]
        if at < bytes.len()
            && let Some(chunk) = bytes.last_chunk()
        {
            return first_from(self.bits(chunk), at, bytes.len());
        }
        while at < bytes.len() && !self.has[bytes[at] as usize] {
            at += 1;
        }
        at
    }

    /// Position of the first byte at or after `from` that is in the set or the second of two
    /// blanks; the length of `bytes` if there is none.
    #[inline]
    pub fn find_or_blanks(&self, bytes: &[u8], from: usize) -> usize {
        let mut at = from;
        let mut is_after_blank = from > 0 && bytes[from - 1] == b' ';
        #[cfg(target_arch = "wasm32")]
        while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
            use std::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_splat};
            let blanks = u8x16_bitmask(u8x16_eq(vector(chunk), u8x16_splat(b' ')));
            let second = blanks & (blanks << 1 | u16::from(is_after_blank));
            let found = self.bits(chunk) | second;
            if found != 0 {
                return at + found.trailing_zeros() as usize;
            }
            is_after_blank = blanks >> 15 != 0;
            at += 16;
        }
        #[cfg(target_arch = "wasm32")]
        if at < bytes.len()
            && let Some(chunk) = bytes.last_chunk()
        {
            use std::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_splat};
            // The byte before `at` is in the chunk, too: fewer than sixteen are left.
            let blanks = u8x16_bitmask(u8x16_eq(vector(chunk), u8x16_splat(b' ')));
            let second = blanks & (blanks << 1);
            return first_from(self.bits(chunk) | second, at, bytes.len());
        }
        while at < bytes.len() {
            let is_blank = bytes[at] == b' ';
            if self.has[bytes[at] as usize] || is_blank && is_after_blank {
                break;
            }
            is_after_blank = is_blank;
            at += 1;
        }
        at
    }

    /// A bit for each byte in the set.
    #[cfg(target_arch = "wasm32")]
    #[inline]
    fn bits(&self, bytes: &[u8; 16]) -> u16 {
        use std::arch::wasm32::{
            i8x16_swizzle, u8x16_bitmask, u8x16_ne, u8x16_shr, u8x16_splat, v128_and,
        };
        let value = vector(bytes);
        let low = v128_and(value, u8x16_splat(0x0f));
        let high = u8x16_shr(value, 4);
        let groups = v128_and(
            i8x16_swizzle(vector(&self.low), low),
            i8x16_swizzle(vector(&self.high), high),
        );
        u8x16_bitmask(u8x16_ne(groups, u8x16_splat(0)))
    }
}

/// Position at or after `from` of the first of these bits, one for each of the last sixteen of
/// `length` bytes; `length` if there is none. At most fifteen bytes are left from `from` on.
#[cfg(any(test, target_arch = "wasm32"))]
#[inline]
fn first_from(bits: u16, from: usize, length: usize) -> usize {
    let start = length - 16;
    let left = u32::from(bits) >> (from - start) << (from - start);
    if left == 0 {
        length
    } else {
        start + left.trailing_zeros() as usize
    }
}

#[cfg(target_arch = "wasm32")]
#[inline]
fn vector(bytes: &[u8; 16]) -> std::arch::wasm32::v128 {
    let value = u128::from_le_bytes(*bytes);
    std::arch::wasm32::u64x2(value as u64, (value >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::{ByteSet, first_from};

    /// The rows by which a component looks bytes up.
    fn has_by_rows(set: &ByteSet, byte: u8) -> bool {
        set.low[usize::from(byte & 0x0f)] & set.high[usize::from(byte >> 4)] != 0
    }

    #[test]
    fn the_rows_say_the_same_as_the_table() {
        const LEADS: ByteSet =
            ByteSet::of(b".!?;\n\xcd\xd6\xd8\xdb\xdc\xdf\xe0\xe1\xe2\xe3\xea\xef");
        let all = ByteSet::of_table([true; 256]);
        for set in [
            LEADS,
            all,
            ByteSet::of(b""),
            ByteSet::of(b" \t\n\r\x0c<&\x7f"),
        ] {
            for byte in 0..=255 {
                assert_eq!(set.has(byte), has_by_rows(&set, byte), "{byte:#x}");
            }
        }
    }

    #[test]
    fn the_first_byte_of_the_set_is_found() {
        let set = ByteSet::of(b"<&");
        for n in 0..70 {
            let mut text = vec![b'a'; n];
            assert_eq!(set.find(&text, 0), None);
            text.extend_from_slice(b"&aaa<");
            assert_eq!(set.find(&text, 0), Some(n));
            assert_eq!(set.find(&text, n + 1), Some(n + 4));
            assert_eq!(set.find(&text, n + 9), None);
        }
    }

    #[test]
    fn the_last_bytes_are_found_among_the_last_sixteen() {
        const LENGTH: usize = 40;
        for from in LENGTH - 15..LENGTH {
            for bits in [0, 1, 1 << 15, 0b0101_0000_0100_0010, u16::MAX] {
                let mut places = from..LENGTH;
                let has = |at: &usize| bits & (1 << (at - (LENGTH - 16))) != 0;
                let expected = places.find(has).unwrap_or(LENGTH);
                assert_eq!(first_from(bits, from, LENGTH), expected, "{from} {bits:b}");
            }
        }
    }

    #[test]
    fn the_second_of_two_blanks_is_found() {
        let set = ByteSet::of(b"<");
        for n in 0..40 {
            let text = [&vec![b'a'; n][..], b" b  c<"].concat();
            assert_eq!(set.find_or_blanks(&text, 0), n + 3);
            assert_eq!(set.find_or_blanks(&text, n + 3), n + 3);
            assert_eq!(set.find_or_blanks(&text, n + 4), n + 5);
            assert_eq!(set.find_or_blanks(&text[..n + 3], 0), n + 3);
        }
    }
}
