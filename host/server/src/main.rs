//! The `trawl` program: reads the command line and hands over.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Parsing a page allocates in many small pieces; this allocator is measurably faster at it than the system's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    trawl::cli::main()
}
