//! CSS selectors: parsing and error messages.

use std::fmt;

use cssparser::{
    BasicParseErrorKind, CowRcStr, ParseError, ParseErrorKind, Parser as CssParser, ToCss,
};
use precomputed_hash::PrecomputedHash;
use selectors::parser::{
    Component, NonTSPseudoClass, ParseRelative, Parser, SelectorImpl, SelectorList,
    SelectorParseErrorKind,
};

use super::Document;

/// A parsed CSS selector or selector list: Selectors Level 4 with `:is`, `:where`, `:not`, `:has`,
/// `:nth-child(… of …)` and so on. As there, an invalid selector inside `:is` or `:where` is
/// ignored. To use a selector repeatedly, parse it once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector(pub(super) SelectorList<Css>);

/// Why a selector does not parse, or why a search was stopped: lower case, without the selector
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError {
    reason: String,
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// If the text is not a selector, or uses a pseudo-class that has no meaning for a static page;
    /// the error says which.
    pub fn parse(css: &str) -> Result<Self, SelectorError> {
        let grammar = Grammar {
            unknown: std::cell::RefCell::default(),
        };
        SelectorList::parse(&grammar, &mut CssParser::new(css), ParseRelative::No)
            .map(Self)
            .map_err(|error| SelectorError {
                reason: reason(&error, &grammar.unknown.borrow()),
            })
    }

    /// For each name-table entry whether an element of that name can match; empty if the selector
    /// does not tell.
    pub(super) fn candidates(&self, document: &Document<'_>) -> Vec<bool> {
        let mut candidates = vec![false; document.names.tags.len()];
        for selector in self.0.slice() {
            let Some(name) = selector.iter().find_map(|component| match component {
                Component::LocalName(name) => Some(name),
                _ => None,
            }) else {
                return Vec::new();
            };
            for (entry, candidate) in candidates.iter_mut().enumerate() {
                let own = document.arrays.name(entry as u32);
                *candidate |= *own == *name.lower_name.0 || *own == *name.name.0;
            }
        }
        candidates
    }
}

impl SelectorError {
    pub(super) fn too_many_steps() -> Self {
        Self {
            reason: "matching took too many steps on this page".to_owned(),
        }
    }
}

impl std::str::FromStr for Selector {
    type Err = SelectorError;

    fn from_str(css: &str) -> Result<Self, SelectorError> {
        Self::parse(css)
    }
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for SelectorError {}

fn reason(error: &ParseError<SelectorParseErrorKind>, unknown: &str) -> String {
    use SelectorParseErrorKind as Kind;
    let reason = match &error.kind {
        ParseErrorKind::Basic(BasicParseErrorKind::EndOfInput) => "unexpected end",
        ParseErrorKind::Basic(BasicParseErrorKind::TooManyNestedBlocks) => "nested too deeply",
        ParseErrorKind::Basic(_) => "unexpected character",
        ParseErrorKind::Custom(kind) => match kind {
            Kind::EmptySelector => "a selector is missing",
            Kind::DanglingCombinator => "a combinator has nothing after it",
            Kind::NonCompoundSelector => {
                "a combinator is not allowed here, only a compound selector"
            }
            Kind::UnsupportedPseudoClassOrElement if !unknown.is_empty() => {
                return format!("the pseudo-class or pseudo-element `{unknown}` is not supported");
            }
            Kind::UnsupportedPseudoClassOrElement => {
                "a pseudo-class or pseudo-element is not supported"
            }
            Kind::ExpectedNamespace => "a namespace prefix is not declared (only `*|` can be used)",
            Kind::ClassNeedsIdent => "a class needs a name after its dot",
            Kind::NoIdentForPseudo
            | Kind::PseudoElementExpectedIdent
            | Kind::PseudoElementExpectedColon => "a pseudo-class needs a name after its colon",
            Kind::NoQualifiedNameInAttributeSelector
            | Kind::UnexpectedTokenInAttributeSelector
            | Kind::ExpectedBarInAttr
            | Kind::InvalidQualNameInAttr => "an attribute selector is malformed",
            Kind::BadValueInAttr => {
                "an attribute selector needs a name or a quoted string as its value"
            }
            _ => "a part is not allowed here",
        },
    };
    reason.to_owned()
}

/// Type parameters of the selectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Css;

/// A name or a value in a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word(pub(super) Box<str>);

impl<'a> From<&'a str> for Word {
    fn from(text: &'a str) -> Self {
        Self(text.into())
    }
}

impl AsRef<str> for Word {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl ToCss for Word {
    fn to_css<W: fmt::Write>(&self, dest: &mut W) -> fmt::Result {
        cssparser::serialize_identifier(&self.0, dest)
    }
}

impl PrecomputedHash for Word {
    fn precomputed_hash(&self) -> u32 {
        // FNV-1a hash.
        self.0.bytes().fold(0x811c_9dc5, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
    }
}

impl SelectorImpl for Css {
    type ExtraMatchingData<'a> = ();
    type AttrValue = Word;
    type Identifier = Word;
    type LocalName = Word;
    type NamespaceUrl = Word;
    type NamespacePrefix = Word;
    type BorrowedNamespaceUrl = Word;
    type BorrowedLocalName = Word;
    type NonTSPseudoClass = PseudoClass;
    type PseudoElement = PseudoElement;
}

/// Pseudo-classes that are meaningful for a static page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PseudoClass {
    /// `:any-link` and `:link`: no link counts as visited.
    Link,
    Checked,
    Disabled,
    Enabled,
    Required,
    Optional,
    ReadOnly,
    ReadWrite,
    Default,
    Indeterminate,
    PlaceholderShown,
    InRange,
    OutOfRange,
    Open,
    Defined,
    /// `:dir(ltr)`, `:dir(rtl)`.
    Dir {
        is_right_to_left: bool,
    },
    /// `:lang(en, '*-CH')`.
    Lang(Box<[Box<str>]>),
    /// `:hover` and other pseudo-classes that need interaction; they parse but never match.
    Never(&'static str),
}

impl ToCss for PseudoClass {
    fn to_css<W: fmt::Write>(&self, dest: &mut W) -> fmt::Result {
        match self {
            Self::Link => dest.write_str(":any-link"),
            Self::Checked => dest.write_str(":checked"),
            Self::Disabled => dest.write_str(":disabled"),
            Self::Enabled => dest.write_str(":enabled"),
            Self::Required => dest.write_str(":required"),
            Self::Optional => dest.write_str(":optional"),
            Self::ReadOnly => dest.write_str(":read-only"),
            Self::ReadWrite => dest.write_str(":read-write"),
            Self::Default => dest.write_str(":default"),
            Self::Indeterminate => dest.write_str(":indeterminate"),
            Self::PlaceholderShown => dest.write_str(":placeholder-shown"),
            Self::InRange => dest.write_str(":in-range"),
            Self::OutOfRange => dest.write_str(":out-of-range"),
            Self::Open => dest.write_str(":open"),
            Self::Defined => dest.write_str(":defined"),
            Self::Dir { is_right_to_left } => {
                let direction = if *is_right_to_left { "rtl" } else { "ltr" };
                write!(dest, ":dir({direction})")
            }
            Self::Lang(ranges) => {
                dest.write_str(":lang(")?;
                for (at, range) in ranges.iter().enumerate() {
                    dest.write_str(if at > 0 { ", " } else { "" })?;
                    cssparser::serialize_string(range, dest)?;
                }
                dest.write_char(')')
            }
            Self::Never(name) => write!(dest, ":{name}"),
        }
    }
}

impl NonTSPseudoClass for PseudoClass {
    fn is_active_or_hover(&self) -> bool {
        matches!(self, Self::Never("active" | "hover"))
    }

    fn is_user_action_state(&self) -> bool {
        matches!(self, Self::Never(_))
    }
}

/// Empty, because a static page has no pseudo-elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PseudoElement {}

impl ToCss for PseudoElement {
    fn to_css<W: fmt::Write>(&self, _: &mut W) -> fmt::Result {
        match *self {}
    }
}

impl selectors::parser::PseudoElement for PseudoElement {}

/// The selector syntax that is accepted.
struct Grammar {
    /// The rejected pseudo-class or pseudo-element, for the error message.
    unknown: std::cell::RefCell<String>,
}

impl Grammar {
    fn reject<T>(&self, spelling: String) -> Result<T, ParseError<SelectorParseErrorKind>> {
        self.unknown.replace(spelling);
        Err(ParseError::custom(
            SelectorParseErrorKind::UnsupportedPseudoClassOrElement,
        ))
    }
}

const NEVER: [&str; 7] = [
    "active",
    "focus",
    "focus-visible",
    "focus-within",
    "hover",
    "target",
    "visited",
];

impl<'i> Parser<'i> for Grammar {
    type Impl = Css;
    type Error = SelectorParseErrorKind;

    fn parse_is_and_where(&self) -> bool {
        true
    }

    fn parse_has(&self) -> bool {
        true
    }

    fn parse_nth_child_of(&self) -> bool {
        true
    }

    fn is_is_alias(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("matches")
    }

    fn parse_parent_selector(&self) -> bool {
        true
    }

    fn parse_non_ts_pseudo_class(
        &self,
        name: CowRcStr<'i>,
    ) -> Result<PseudoClass, ParseError<SelectorParseErrorKind>> {
        let lower = name.to_ascii_lowercase();
        Ok(match lower.as_str() {
            "any-link" | "link" => PseudoClass::Link,
            "checked" => PseudoClass::Checked,
            "disabled" => PseudoClass::Disabled,
            "enabled" => PseudoClass::Enabled,
            "required" => PseudoClass::Required,
            "optional" => PseudoClass::Optional,
            "read-only" => PseudoClass::ReadOnly,
            "read-write" => PseudoClass::ReadWrite,
            "default" => PseudoClass::Default,
            "indeterminate" => PseudoClass::Indeterminate,
            "placeholder-shown" => PseudoClass::PlaceholderShown,
            "in-range" => PseudoClass::InRange,
            "out-of-range" => PseudoClass::OutOfRange,
            "open" => PseudoClass::Open,
            "defined" => PseudoClass::Defined,
            _ => match NEVER.iter().find(|&&never| never == lower) {
                Some(never) => PseudoClass::Never(never),
                None => return self.reject(format!(":{name}")),
            },
        })
    }

    fn parse_non_ts_functional_pseudo_class(
        &self,
        name: CowRcStr<'i>,
        parser: &mut CssParser<'i>,
        _after_part: bool,
    ) -> Result<PseudoClass, ParseError<SelectorParseErrorKind>> {
        if name.eq_ignore_ascii_case("dir") {
            let direction = parser.expect_ident()?;
            let is_right_to_left = direction.eq_ignore_ascii_case("rtl");
            if !is_right_to_left && !direction.eq_ignore_ascii_case("ltr") {
                let spelling = format!(":dir({direction})");
                return self.reject(spelling);
            }
            return Ok(PseudoClass::Dir { is_right_to_left });
        }
        if !name.eq_ignore_ascii_case("lang") {
            return self.reject(format!(":{name}()"));
        }
        let ranges = parser.parse_comma_separated::<_, _, SelectorParseErrorKind>(|range| {
            let range = range.expect_ident_or_string()?;
            Ok(Box::<str>::from(&**range))
        })?;
        Ok(PseudoClass::Lang(ranges.into()))
    }

    fn parse_pseudo_element(
        &self,
        name: CowRcStr<'i>,
    ) -> Result<PseudoElement, ParseError<SelectorParseErrorKind>> {
        self.reject(format!("::{name}"))
    }

    fn parse_functional_pseudo_element(
        &self,
        name: CowRcStr<'i>,
        _arguments: &mut CssParser<'i>,
    ) -> Result<PseudoElement, ParseError<SelectorParseErrorKind>> {
        self.reject(format!("::{name}()"))
    }
}
