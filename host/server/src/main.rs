//! The `trawl` program: sets up memory, reads the command line and hands over.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Parsing a page allocates in many small pieces; this allocator is measurably faster at it than
/// the system's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay` of mimalloc.h.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    return_memory_early();
    trawl::cli::main()
}

/// Makes freed memory go back to the system at once. Crawls allocate and free gigabytes; with huge
/// pages and the default delay of a second most of their peak stays resident for good, and neither
/// makes pages faster (`bench/README.md`, Memory).
#[expect(unsafe_code, reason = "the allocator's options have a C interface")]
fn return_memory_early() {
    // SAFETY: the function sets a number and may be called at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
    // Not every kernel has the setting, and without it there is only more memory in use.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}
