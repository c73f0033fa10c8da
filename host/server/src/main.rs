//! The `trawl` program.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Parsing a page makes many small allocations; this allocator is measurably faster at them than
/// the system's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    trawl::cli::main()
}
