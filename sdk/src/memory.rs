//! `memcpy` and its relatives for components.
//!
//! The instructions `memory.copy` and `memory.fill` are calls into the host, which cost more than
//! copying a word of text. Components are therefore compiled without them, and the compiler calls
//! these functions, which use them for long ranges only. Short ranges are loaded into registers as
//! a whole and then stored, so that they may overlap. There are no loops: each iteration of one
//! would check the time limit.

#![expect(
    unsafe_code,
    reason = "these functions work with raw memory, under the rules of the C standard"
)]

use std::arch::wasm32::{
    u8x16_all_true, u8x16_bitmask, u8x16_eq, u8x16_splat, v128, v128_load, v128_store,
};
use std::ptr;

/// Longest range that is copied or filled without the host, in bytes.
const SHORT_MAX: usize = 128;

/// Copies between ranges that may overlap.
///
/// # Safety
/// As for `memmove` in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    // SAFETY: the caller guarantees that both ranges have `n` bytes.
    unsafe { copy(to, from, n) };
    to
}

/// Copies between ranges that do not overlap.
///
/// # Safety
/// As for `memcpy` in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    // SAFETY: the caller guarantees that both ranges have `n` bytes.
    unsafe { copy(to, from, n) };
    to
}

/// Fills a range with one byte.
///
/// # Safety
/// As for `memset` in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    // SAFETY: the caller guarantees that the range has `n` bytes.
    unsafe { fill(to, byte as u8, n) };
    to
}

/// Compares two ranges as unsigned bytes.
///
/// # Safety
/// As for `memcmp` in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the caller guarantees that both ranges have `n` bytes.
    unsafe { compare(a, b, n) }
}

/// Like `memcmp`, but says only whether two ranges are equal.
///
/// # Safety
/// As for `memcmp` in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the caller guarantees that both ranges have `n` bytes.
    unsafe { compare(a, b, n) }
}

#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: every access lies within the first `n` bytes of its range; each branch loads all
    // bytes before it stores any.
    unsafe {
        match n {
            0 => {}
            1..=3 => {
                let (first, middle, last) = (*from, *from.add(n / 2), *from.add(n - 1));
                *to = first;
                *to.add(n / 2) = middle;
                *to.add(n - 1) = last;
            }
            4..=7 => both_ends::<u32>(to, from, n),
            8..=16 => both_ends::<u64>(to, from, n),
            17..=32 => {
                let (first, last) = (load(from, 0), load(from, n - 16));
                store(to, 0, first);
                store(to, n - 16, last);
            }
            33..=64 => {
                let first = [load(from, 0), load(from, 16)];
                let last = [load(from, n - 32), load(from, n - 16)];
                store(to, 0, first[0]);
                store(to, 16, first[1]);
                store(to, n - 32, last[0]);
                store(to, n - 16, last[1]);
            }
            65..=SHORT_MAX => {
                let first = [0, 16, 32, 48].map(|at| load(from, at));
                let last = [64, 48, 32, 16].map(|at| load(from, n - at));
                for (i, value) in first.into_iter().enumerate() {
                    store(to, 16 * i, value);
                }
                for (i, value) in last.into_iter().enumerate() {
                    store(to, n - 64 + 16 * i, value);
                }
            }
            _ => long_copy(to, from, n),
        }
    }
}

#[inline(always)]
unsafe fn fill(to: *mut u8, byte: u8, n: usize) {
    // SAFETY: every access lies within the first `n` bytes of the range.
    unsafe {
        match n {
            0 => {}
            1..=15 => {
                let word = u64::from(byte).wrapping_mul(0x0101_0101_0101_0101);
                match n {
                    1..=3 => {
                        *to = byte;
                        *to.add(n / 2) = byte;
                        *to.add(n - 1) = byte;
                    }
                    4..=7 => {
                        ptr::write_unaligned(to.cast(), word as u32);
                        ptr::write_unaligned(to.add(n - 4).cast(), word as u32);
                    }
                    _ => {
                        ptr::write_unaligned(to.cast(), word);
                        ptr::write_unaligned(to.add(n - 8).cast(), word);
                    }
                }
            }
            16..=64 => {
                let value = u8x16_splat(byte);
                store(to, 0, value);
                store(to, n - 16, value);
                if n > 32 {
                    store(to, 16, value);
                    store(to, n - 32, value);
                }
            }
            _ => long_fill(to, byte, n),
        }
    }
}

#[inline(always)]
unsafe fn compare(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: every access lies within the first `n` bytes of its range.
    unsafe {
        let mut at = 0;
        while at + 16 <= n {
            let equal = u8x16_eq(load(a, at), load(b, at));
            if !u8x16_all_true(equal) {
                let differs = at + (!u8x16_bitmask(equal)).trailing_zeros() as usize;
                return i32::from(*a.add(differs)) - i32::from(*b.add(differs));
            }
            at += 16;
        }
        if at + 8 <= n {
            let (x, y) = (big_endian(a.add(at)), big_endian(b.add(at)));
            if x != y {
                return if x < y { -1 } else { 1 };
            }
            at += 8;
        }
        if n >= 8 {
            // The last bytes again, with those before them, which are equal.
            let (x, y) = (big_endian(a.add(n - 8)), big_endian(b.add(n - 8)));
            return if x == y {
                0
            } else if x < y {
                -1
            } else {
                1
            };
        }
        while at < n {
            let difference = i32::from(*a.add(at)) - i32::from(*b.add(at));
            if difference != 0 {
                return difference;
            }
            at += 1;
        }
        0
    }
}

/// # Safety
/// Eight bytes must be readable.
#[inline(always)]
unsafe fn big_endian(from: *const u8) -> u64 {
    // SAFETY: the caller guarantees that they are.
    u64::from_be(unsafe { ptr::read_unaligned(from.cast()) })
}

/// Copies a range of one to two times the size of `T`.
#[inline(always)]
unsafe fn both_ends<T: Copy>(to: *mut u8, from: *const u8, n: usize) {
    let last = n - size_of::<T>();
    // SAFETY: both accesses of a range lie within its `n` bytes.
    unsafe {
        let first: T = ptr::read_unaligned(from.cast());
        let end: T = ptr::read_unaligned(from.add(last).cast());
        ptr::write_unaligned(to.cast(), first);
        ptr::write_unaligned(to.add(last).cast(), end);
    }
}

#[inline(always)]
unsafe fn load(from: *const u8, at: usize) -> v128 {
    // SAFETY: the caller guarantees 16 readable bytes at `at`.
    unsafe { v128_load(from.add(at).cast()) }
}

#[inline(always)]
unsafe fn store(to: *mut u8, at: usize, value: v128) {
    // SAFETY: the caller guarantees 16 writable bytes at `at`.
    unsafe { v128_store(to.add(at).cast(), value) }
}

/// The instruction `memory.copy`.
#[target_feature(enable = "bulk-memory")]
#[inline(never)]
unsafe fn long_copy(to: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller guarantees that both ranges have `n` bytes.
    unsafe { ptr::copy(from, to, n) }
}

/// The instruction `memory.fill`.
#[target_feature(enable = "bulk-memory")]
#[inline(never)]
unsafe fn long_fill(to: *mut u8, byte: u8, n: usize) {
    // SAFETY: the caller guarantees that the range has `n` bytes.
    unsafe { ptr::write_bytes(to, byte, n) }
}
