//! One row of a table, and the shapes of values.

use std::fmt::Write;

use trawl_plan::{Named, Needs};

use super::option::CommandOption;
use super::routes::Routes;

/// The version in which the rows of the first release appeared.
const FIRST: &str = "0.1";

/// A parameter of a request object, or a key of a nested object.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
    /// Names that are not accepted but often sent by mistake, for "did you mean".
    pub mistaken: &'static [&'static str],
    /// What its value looks like.
    pub shape: Shape,
    /// Its value if it is not set, for people.
    pub default: &'static str,
    /// The routes that use it.
    pub routes: Routes,
    /// What else it needs to have an effect.
    pub needs: Needs,
    /// Whether its value is never quoted, since it may hold a secret.
    pub is_secret: bool,
    /// Whether its JSON may be larger than for other parameters.
    pub is_large: bool,
    /// What it does, for callers.
    pub doc: &'static str,
    /// A value, as JSON.
    pub example: &'static str,
    /// The version in which it appeared.
    pub since: &'static str,
    /// The option of the command line that stands for it, on the commands that have it. All others
    /// are set by `--set`.
    pub option: Option<CommandOption>,
    /// The schema in the OpenAPI document that its value has for itself.
    pub schema: Option<NamedSchema>,
}

/// A schema with a name: generated clients name a type after it.
#[derive(Clone, Copy, Debug)]
pub struct NamedSchema {
    /// The name.
    pub name: &'static str,
    /// What the value is, for callers.
    pub doc: &'static str,
}

impl Parameter {
    /// A parameter of these routes.
    pub(super) const fn new(
        name: &'static str,
        shape: Shape,
        routes: Routes,
        needs: Needs,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            mistaken: &[],
            shape,
            default: "not set",
            routes,
            needs,
            is_secret: false,
            is_large: false,
            doc,
            example: "",
            since: FIRST,
            option: None,
            schema: None,
        }
    }

    /// A key of a nested object: it is used wherever the object is.
    pub(super) const fn key(
        name: &'static str,
        shape: Shape,
        needs: Needs,
        doc: &'static str,
    ) -> Self {
        Self::new(name, shape, Routes::ALL, needs, doc)
    }

    /// A switch, which is off by default.
    pub(super) const fn switch(
        name: &'static str,
        routes: Routes,
        needs: Needs,
        doc: &'static str,
    ) -> Self {
        let row = Self::new(name, Shape::Switch, routes, needs, doc);
        row.default("false").example("true")
    }

    /// A switch in a nested object.
    pub(super) const fn key_switch(name: &'static str, needs: Needs, doc: &'static str) -> Self {
        Self::switch(name, Routes::ALL, needs, doc)
    }

    pub(super) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    pub(super) const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub(super) const fn mistaken(self, mistaken: &'static [&'static str]) -> Self {
        Self { mistaken, ..self }
    }

    pub(super) const fn option(self, option: CommandOption) -> Self {
        Self {
            option: Some(option),
            ..self
        }
    }

    pub(super) const fn schema(self, name: &'static str, doc: &'static str) -> Self {
        Self {
            schema: Some(NamedSchema { name, doc }),
            ..self
        }
    }

    pub(super) const fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }

    pub(super) const fn large(self) -> Self {
        Self {
            is_large: true,
            ..self
        }
    }

    /// Whether pipelines use it, and no other route but `/search`.
    pub fn is_of_pipelines(&self) -> bool {
        let is_shared = !Routes::PIPELINES.and(Routes::SEARCH).has_all(self.routes);
        !is_shared && !self.routes.is_apart_from(Routes::PIPELINES)
    }

    /// Whether `/search` uses it for more than the pages of its results.
    pub fn is_of_search(&self) -> bool {
        !self.routes.is_apart_from(Routes::SEARCH)
    }

    /// Whether this is its name or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// What a value looks like in JSON. `null` is always "not set".
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Count(Range),
    /// A number.
    Number(&'static str),
    /// A string; what it says, for people.
    Text(&'static str),
    /// One of some names, compared without case. Unknown names are checked when the request is
    /// planned.
    Name(&'static [Choice]),
    /// A string, a number or a boolean.
    Scalar,
    /// A list.
    List(&'static Shape),
    /// A list of byte values, which are not looked at one by one.
    Bytes,
    /// An object with known keys.
    Object(&'static Object),
    /// An object whose keys the caller chooses; what they are, for people.
    Map(&'static str, &'static Shape),
    /// One of several shapes, which differ in their JSON type.
    Either(&'static [Shape]),
    /// A list of automation steps.
    Steps,
    /// An object whose keys a plugin defines and checks; what it is, for people.
    Options(&'static str),
    /// JSON that a plugin checks; what it is, for people, and its JSON types.
    Any(&'static str, &'static [&'static str]),
}

/// The bounds of a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The smallest value.
    pub least: u64,
    /// The largest value; `u64::MAX` for no bound.
    pub most: u64,
    /// What it counts: `ms`, `pages`.
    pub unit: &'static str,
    /// Whether a value out of range is refused rather than set to the nearest bound.
    pub is_refused: bool,
}

/// An accepted name.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The name.
    pub name: &'static str,
    /// Other names that mean the same.
    pub aliases: &'static [&'static str],
}

/// The names of these values.
pub(crate) const fn choices<T, const N: usize>(values: &[Named<T>; N]) -> [Choice; N] {
    let mut all = [Choice {
        name: "",
        aliases: &[],
    }; N];
    let mut at = 0;
    while at < N {
        if let Some((&name, aliases)) = values[at].1.split_first() {
            all[at] = Choice { name, aliases };
        }
        at += 1;
    }
    all
}

/// A nested object.
#[derive(Debug)]
pub struct Object {
    /// Its name in the OpenAPI document.
    pub name: &'static str,
    /// Its keys.
    pub rows: &'static [Parameter],
}

impl Object {
    /// The key with this name or alias.
    pub fn find(&self, name: &str) -> Option<&'static Parameter> {
        self.rows.iter().find(|row| row.is_called(name))
    }
}

impl Shape {
    /// The shape as a noun phrase with markdown: "a whole number of ms", "a list of strings".
    pub fn phrase(&self) -> String {
        match self {
            Self::Switch => "a boolean".to_owned(),
            Self::Count(range) => format!("a whole number of {}", range.unit),
            Self::Number(_) => "a number".to_owned(),
            Self::Text(_) | Self::Name(_) => "a string".to_owned(),
            Self::Scalar => "a string, a number or a boolean".to_owned(),
            Self::List(item) => format!("a list, each item {}", item.phrase()),
            Self::Bytes => "a list of byte values".to_owned(),
            Self::Object(object) => {
                let names = object.rows.iter().map(|row| format!("`{}`", row.name));
                format!("an object with {}", names.collect::<Vec<_>>().join(", "))
            }
            Self::Map(keys, value) => {
                format!(
                    "an object whose keys are {keys}, each with {}",
                    value.phrase()
                )
            }
            Self::Either(shapes) => {
                let mut text = String::new();
                for (at, shape) in shapes.iter().enumerate() {
                    let between = if at > 0 { ", or " } else { "" };
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{between}{}", shape.phrase());
                }
                text
            }
            Self::Steps => "a list of steps".to_owned(),
            Self::Options(what) => format!("an object: {what}"),
            Self::Any(what, _) => (*what).to_owned(),
        }
    }
}
