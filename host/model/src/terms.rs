//! The terms on which pages are served.

/// What a run's pages cost and what they may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Terms {
    /// Each page costs what it consumed.
    #[default]
    PayAsYouGo,
    /// Pages cost nothing; the account pays by the month for requests in flight. Spec S23.
    Unlimited,
}

impl Terms {
    /// Its name in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PayAsYouGo => "pay_as_you_go",
            Self::Unlimited => "unlimited",
        }
    }

    /// The terms with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::PayAsYouGo, Self::Unlimited]
            .into_iter()
            .find(|terms| terms.name() == name)
    }
}
