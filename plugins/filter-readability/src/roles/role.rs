//! The roles, and the options that choose among them.

use serde::Deserialize;

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident $name:literal)*) => {
        /// The role of a part of a page.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[repr(u8)]
        pub enum Role {
            $($(#[$doc])* #[serde(rename = $name)] $role,)*
        }

        impl Role {
            /// All roles.
            pub const ALL: &'static [Self] = &[$(Self::$role),*];

            /// The name in options.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$role => $name,)*
                }
            }
        }

        /// The options as a JSON Schema.
        pub(crate) const SCHEMA: &str = concat!(
            r#"{"type": "object", "properties": {
                "include": {"type": "array", "description": "Roles that are kept wherever the page has them",
                    "items": {"type": "string", "enum": ["#, roles!(@list $($name)*), r#"]}},
                "exclude": {"type": "array", "description": "Roles that are left out; `include` wins",
                    "items": {"type": "string", "enum": ["#, roles!(@list $($name)*), r#"]}},
                "only": {"type": "string", "enum": ["body"], "description": "Leaves out every role but `standfirst` that `include` does not name"}
            }, "additionalProperties": false}"#
        );
    };
    (@list $first:literal $($name:literal)*) => {
        concat!("\"", $first, "\"", $(", \"", $name, "\""),*)
    };
}

roles! {
    /// The visible title.
    Headline "headline"
    /// The sentence or two below it that introduce the text.
    Standfirst "standfirst"
    /// Who wrote it.
    Byline "byline"
    /// When it was published or changed.
    Date "date"
    /// The picture above the text.
    LeadImage "lead_image"
    /// The caption of a picture.
    Caption "caption"
    /// Who took a picture.
    Credit "credit"
    /// Keywords that link to lists of other pages.
    Tags "tags"
    /// Who the author is.
    Biography "biography"
    /// Buttons to share the page and to follow the site.
    Share "share"
    /// The box that asks for an e-mail address.
    Newsletter "newsletter"
    /// Links to other pages that the site recommends, in the text and below it.
    Related "related"
    /// What readers wrote below an article.
    Comments "comments"
    /// Notices about cookies, and walls that ask for money.
    Consent "consent"
    /// Embedded players, and "listen to this article".
    Player "player"
    /// The text of a video or a recording.
    Transcript "transcript"
    /// What the site says against being held liable.
    Disclaimer "disclaimer"
}

/// A set of roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoleSet(u32);

impl RoleSet {
    /// Whether a role is in the set.
    pub(crate) const fn has(self, role: Role) -> bool {
        self.0 & (1 << role as u8) != 0
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl<'r> FromIterator<&'r Role> for RoleSet {
    fn from_iter<I: IntoIterator<Item = &'r Role>>(roles: I) -> Self {
        let bits = roles.into_iter().map(|role| 1 << *role as u8);
        Self(bits.fold(0, |set, bit: u32| set | bit))
    }
}

/// Options of the filter.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Roles that are kept wherever the page has them.
    include: Vec<Role>,
    /// Roles that are left out.
    exclude: Vec<Role>,
    /// Leaves out every role but [`Role::Standfirst`] that `include` does not name.
    only: Option<Only>,
}

/// What is kept without roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Only {
    Body,
}

/// Which roles are added to what the model selects, and which are taken out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) added: RoleSet,
    pub(crate) left_out: RoleSet,
    /// Whether nothing but the text of an article is wanted.
    pub(crate) is_body: bool,
}

impl Options {
    /// The options for the text of an article alone.
    pub fn body() -> Self {
        Self {
            only: Some(Only::Body),
            ..Self::default()
        }
    }

    /// What they ask for.
    pub(crate) fn wanted(&self) -> Wanted {
        let is_body = self.only == Some(Only::Body);
        let added: RoleSet = self.include.iter().collect();
        // The body begins with what introduces it.
        let others = Role::ALL
            .iter()
            .filter(|role| is_body && **role != Role::Standfirst);
        let left_out: RoleSet = self.exclude.iter().chain(others).collect();
        Wanted {
            added,
            left_out: left_out.without(added),
            is_body,
        }
    }
}

impl Wanted {
    /// Whether any role is added or left out.
    pub(crate) fn has_roles(self) -> bool {
        !self.added.is_empty() || !self.left_out.is_empty()
    }
}
