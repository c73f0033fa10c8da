//! How a row makes a parameter.
//!
//! A table is a list of rows `field: Type = constructor(…).default(…).example(…);`. Each makes the
//! field that holds the value as it was sent, what reads the field, and the [`Parameter`]: its
//! name is the field's, and the constructor gets the rest. Other names that mean the same
//! follow the first, `field | other: Type`; they have fields of their own.
//!
//! [`Parameter`]: crate::Parameter

use super::row::Parameter;

/// A request object, or a part of one: its fields are parameters, which are read one by one.
pub trait RequestObject: Default {
    /// The row of the field with this name, which may be an alias. `None` if there is no such
    /// field.
    fn row(name: &str) -> Option<&'static Parameter>;

    /// Reads the value of the field with this name from JSON; `null` is not set. `false` if there
    /// is no such field.
    ///
    /// # Errors
    /// The value does not have the type of the field.
    fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool>;
}

/// The rows of a table or of an object, as a slice.
macro_rules! rows {
    ($(
        $name:ident $(| $alias:ident)* = $kind:ident ( $($argument:expr),* $(,)? )
            $(. $method:ident ( $($value:expr),* $(,)? ))*;
    )*) => {
        &[$(
            $crate::row::Parameter::$kind(stringify!($name), $($argument),*)
                $(.$method($($value),*))*
                .aliases(&[$(stringify!($alias)),*]),
        )*]
    };
}

/// A table of parameters: the struct of their values, and its rows as `ROWS`.
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $Group:ident;
        $(
            $name:ident $(| $alias:ident)* : $type:ty = $kind:ident ( $($argument:expr),* $(,)? )
                $(. $method:ident ( $($value:expr),* $(,)? ))*;
        )*
    ) => {
        $(#[$attribute])*
        #[derive(Default)]
        pub struct $Group {
            $(
                #[doc = concat!("`", stringify!($name), "` as it was sent.")]
                pub $name: Option<$type>,
                $(
                    #[doc = concat!("`", stringify!($alias), "` as it was sent.")]
                    pub $alias: Option<$type>,
                )*
            )*
        }

        impl $Group {
            /// The rows, in the order of the documentation.
            pub const ROWS: &'static [$crate::row::Parameter] = $crate::define::rows![$(
                $name $(| $alias)* = $kind($($argument),*) $(.$method($($value),*))*;
            )*];
        }

        impl $crate::define::RequestObject for $Group {
            fn row(name: &str) -> Option<&'static $crate::row::Parameter> {
                Self::ROWS.iter().find(|row| row.is_called(name))
            }

            fn set(&mut self, name: &str, json: &str) -> serde_json::Result<bool> {
                match name {
                    $(
                        stringify!($name) => self.$name = serde_json::from_str(json)?,
                        $(stringify!($alias) => self.$alias = serde_json::from_str(json)?,)*
                    )*
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

/// A nested object with known keys: the struct of their values, and the [`Object`] with its rows as
/// `OBJECT`. The name in the OpenAPI document is that of the struct.
///
/// [`Object`]: crate::Object
macro_rules! object {
    (
        $(#[$attribute:meta])*
        pub struct $Object:ident;
        $(
            $name:ident $(| $alias:ident)* : $type:ty = $kind:ident ( $($argument:expr),* $(,)? )
                $(. $method:ident ( $($value:expr),* $(,)? ))*;
        )*
    ) => {
        $(#[$attribute])*
        #[derive(serde::Deserialize)]
        pub struct $Object {
            $(
                #[doc = concat!("`", stringify!($name), "` as it was sent.")]
                pub $name: $type,
                $(
                    #[doc = concat!("`", stringify!($alias), "` as it was sent.")]
                    pub $alias: $type,
                )*
            )*
        }

        impl $Object {
            /// Its name and keys.
            pub const OBJECT: $crate::row::Object = $crate::row::Object {
                name: stringify!($Object),
                rows: $crate::define::rows![$(
                    $name $(| $alias)* = $kind($($argument),*) $(.$method($($value),*))*;
                )*],
            };
        }
    };
}

pub(crate) use {object, parameters, rows};
