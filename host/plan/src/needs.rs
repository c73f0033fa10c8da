//! The conditions under which a parameter has an effect, and what is known of them.

/// Conditions, all of which a parameter needs to have an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u32);

impl Needs {
    /// No condition: it has an effect wherever its route uses it.
    pub const NOTHING: Self = Self(0);
    /// Pages are paid by usage.
    pub const PAID: Self = Self(1);
    /// `content` has a format of the page's text.
    pub const TEXT: Self = Self(1 << 1);
    /// `content` has the format `html`.
    pub const HTML: Self = Self(1 << 2);
    /// `content` is neither empty nor a screenshot.
    pub const BODY: Self = Self(1 << 3);
    /// Something reads the page's document.
    pub const DOCUMENT: Self = Self(1 << 4);
    /// Links are listed or followed.
    pub const LINKS: Self = Self(1 << 5);
    /// A screenshot is taken.
    pub const PICTURE: Self = Self(1 << 6);
    /// A browser may be used.
    pub const BROWSER: Self = Self(1 << 7);
    /// A language model is configured.
    pub const MODEL: Self = Self(1 << 8);
    /// The plugin behind it is loaded.
    pub const PLUGIN: Self = Self(1 << 9);
    /// The pool, or a pool in the country, is configured.
    pub const POOL: Self = Self(1 << 10);
    /// A cached page may be used or the page be stored.
    pub const STORABLE: Self = Self(1 << 11);
    /// Plain HTTP may serve the page.
    pub const PLAIN: Self = Self(1 << 12);
    /// The server's own browser rendered the page.
    pub const OWN_BROWSER: Self = Self(1 << 13);
    /// Scripts of the page ran, in whichever browser.
    pub const JAVASCRIPT: Self = Self(1 << 14);
    /// No third-party provider served the page.
    pub const OWN_STACK: Self = Self(1 << 15);
    /// Plain HTTP served the page.
    pub const HTTP_ANSWER: Self = Self(1 << 16);

    /// Both conditions.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of the other conditions are among these.
    pub const fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What is known about a request or a page: which conditions hold and which do not. The others are
/// open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFacts {
    holds: Needs,
    fails: Needs,
}

/// Whether a parameter has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It has one.
    Yes,
    /// It has none.
    No,
    /// It depends on who will serve the page.
    Open,
}

impl RequestFacts {
    /// The same with one more condition that is known to hold or not to hold.
    #[must_use]
    pub const fn with(self, condition: Needs, holds: bool) -> Self {
        if holds {
            Self {
                holds: self.holds.and(condition),
                ..self
            }
        } else {
            Self {
                fails: self.fails.and(condition),
                ..self
            }
        }
    }

    /// Whether a parameter with these needs has an effect.
    pub const fn effect(self, needs: Needs) -> Effect {
        if needs.has_any(self.fails) {
            Effect::No
        } else if self.holds.has_all(needs) {
            Effect::Yes
        } else {
            Effect::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_known_when_its_conditions_are() {
        let facts = RequestFacts::default()
            .with(Needs::PAID, true)
            .with(Needs::TEXT, false);
        assert_eq!(facts.effect(Needs::NOTHING), Effect::Yes);
        assert_eq!(facts.effect(Needs::PAID), Effect::Yes);
        assert_eq!(facts.effect(Needs::PAID.and(Needs::TEXT)), Effect::No);
        assert_eq!(facts.effect(Needs::OWN_STACK), Effect::Open);
    }
}
