//! The five pipelines: crawls whose pages an analyst examines, and one whose URLs come from a text.

/// One of the deprecated pipelines. Spec S22.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipeline {
    /// E-mail addresses, telephone numbers, profiles, businesses.
    ExtractContacts,
    /// Questions with their answers.
    ExtractQa,
    /// What pages are about.
    Label,
    /// The links that matter.
    FilterLinks,
    /// The pages that a text names.
    CrawlText,
}

impl Pipeline {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ExtractContacts,
        Self::ExtractQa,
        Self::Label,
        Self::FilterLinks,
        Self::CrawlText,
    ];

    /// Its name in the interface and in the store of crawls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ExtractContacts => "extract-contacts",
            Self::ExtractQa => "extract-qa",
            Self::Label => "label",
            Self::FilterLinks => "filter-links",
            Self::CrawlText => "crawl-text",
        }
    }

    /// The analyst that looks at its pages.
    pub const fn analyst(self) -> Option<&'static str> {
        match self {
            Self::ExtractContacts => Some("contacts"),
            Self::ExtractQa => Some("qa"),
            Self::Label => Some("label"),
            Self::FilterLinks => Some("filter_links"),
            Self::CrawlText => None,
        }
    }

    /// Whether its answer is one object rather than an entry a page.
    pub const fn is_joined(self) -> bool {
        matches!(self, Self::ExtractQa | Self::FilterLinks)
    }

    /// The pipeline with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|pipeline| pipeline.name() == name)
    }
}
