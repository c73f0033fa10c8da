//! Numbers for libraries that ask for random ones.
//!
//! A plugin has no source of randomness, and what it returns depends on its arguments alone.
//! Libraries that do not work without one (a parser of encrypted documents that pads with random
//! bytes, a hash table with a random seed) get the same bytes in every call, those that the host
//! gives to components of WASI. They are no secrets and must not become keys.

#![expect(
    unsafe_code,
    reason = "`getrandom` finds this function by its name, and passes a pointer"
)]

use std::mem::MaybeUninit;
use std::slice;

/// The bytes, over and over.
const BYTES: [u8; 8] = [0x9e, 0x37, 0x79, 0xb9, 0x7f, 0x4a, 0x7c, 0x15];

/// Fills a range: the custom source of the crate `getrandom`, 0.3 and 0.4.
///
/// # Safety
/// `to` must be valid for writes of `n` bytes.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    to: *mut u8,
    n: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller guarantees that `n` bytes may be written.
    let range = unsafe { slice::from_raw_parts_mut(to.cast::<MaybeUninit<u8>>(), n) };
    for (byte, value) in range.iter_mut().zip(BYTES.iter().cycle()) {
        byte.write(*value);
    }
    Ok(())
}
