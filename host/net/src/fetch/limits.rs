//! Limits of one page.

use std::time::Duration;

/// Redirects followed for one page, as in browsers. Fetch standard section 4.4, step 7.
pub const REDIRECTS_MAX: usize = 20;
/// Bytes of one body as it comes over the wire, unless configured otherwise: three times the
/// largest pages seen, and enough for most documents and images.
pub const WIRE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Bytes of one body after decoding, unless configured otherwise. What all of them hold together
/// is bounded by the memory budget.
pub const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a body may arrive without a byte, unless configured otherwise: a site that is alive
/// sends something, and a body that stalls holds memory that others wait for.
pub const BODY_IDLE_MAX: Duration = Duration::from_secs(10);
