//! The world of a server that is judged.

use trawl_tests::World;

/// A world whose account can pay an hour of pages.
pub(crate) fn world() -> World {
    let mut world = World::new();
    world.dollars = "100000";
    world
}
