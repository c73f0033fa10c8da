//! The tables of parameters and the types that read them say the same.

use std::collections::BTreeSet;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use trawl_parameters::{self as parameters, Parameter, Routes};

use super::body::WireError;
use super::request::ScrapeRequest;
use super::transform::TransformRequest;

/// Catches the names of a type's fields.
struct Names<'a>(&'a mut Vec<&'static str>);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = WireError;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, WireError> {
        Err(WireError::body("not a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, WireError> {
        self.0.extend(fields);
        Err(WireError::body("only its names are needed"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn fields<T: for<'de> Deserialize<'de>>() -> BTreeSet<&'static str> {
    let mut names = Vec::new();
    assert!(T::deserialize(Names(&mut names)).is_err());
    assert!(!names.is_empty());
    names.into_iter().collect()
}

fn described(is_one: impl Fn(&Parameter) -> bool) -> BTreeSet<&'static str> {
    let rows = parameters::all().filter(|row| is_one(row));
    let names = rows.flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
    names.collect()
}

#[test]
fn every_field_is_in_a_row_and_every_row_is_a_field() {
    // Parameters of a route that shares them with no ordinary crawl are read by the type of their
    // own.
    let is_of_transform = |row: &Parameter| Routes::TRANSFORM.has_all(row.routes);
    let is_shared = |row: &Parameter| !is_of_transform(row) && !row.is_of_pipelines();
    assert_eq!(fields::<ScrapeRequest>(), described(is_shared));
    assert_eq!(
        fields::<TransformRequest>(),
        described(|row| !row.routes.is_apart_from(Routes::TRANSFORM))
    );
}
