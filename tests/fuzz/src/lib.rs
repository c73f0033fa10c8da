//! What the fuzz targets of the crates share. A target is in the crate that reads the bytes, in
//! a file `fuzz.rs` next to the code, and its seeds are next to it in `__fuzz__/TARGET/corpus`:
//! that is bolero's layout, so its engines find them.
//!
//! On stable Rust, bolero's engine is random: it replays the seeds and then makes up bytes. Bytes
//! alone seldom get past the first check of a reader, so each input is used twice: as it is, and as
//! a recipe that changes the seeds (see [`Seeds`]).

mod json;
mod recipe;
mod seeds;

use std::time::Duration;

pub use bolero;
pub use recipe::Recipe;
pub use seeds::{Seeds, changed};

/// How long a target runs unless `BOLERO_RANDOM_TEST_TIME_MS` says otherwise: long enough for some
/// thousand inputs, short enough for the inner loop.
pub const TIME: Duration = Duration::from_secs(2);

/// Runs a fuzz target: `fuzz!("robots", |input| …)` checks a property, a `fn(&[u8])` that panics
/// when it does not hold, on the seeds of `__fuzz__/robots/corpus`, on changes of them and on
/// random bytes.
#[macro_export]
macro_rules! fuzz {
    ($name:literal, $property:expr) => {{
        let property: fn(&[u8]) = $property;
        let seeds = $crate::Seeds::read(env!("CARGO_MANIFEST_DIR"), file!(), $name);
        $crate::bolero::check!(name = $name)
            .with_test_time($crate::TIME)
            .for_each(move |input: &[u8]| seeds.check(input, property));
    }};
}
