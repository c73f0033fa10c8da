//! Looks for the programs of PostgreSQL, which some tests need.

#[path = "../../tests/postgres/find.rs"]
mod postgres;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../tests/postgres/find.rs");
    postgres::find();
}
