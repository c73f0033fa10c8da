//! The numbering plans of the world, read from a table on demand.

use std::sync::LazyLock;

/// One region per line; the first line names the source.
const TABLE: &str = include_str!("../../data/numbering_plans.tsv");

/// The lines of the regions.
static LINES: LazyLock<Vec<&'static str>> = LazyLock::new(|| TABLE.lines().skip(1).collect());

/// Types of numbers in the order of the table columns.
pub(crate) const KINDS: [&str; 8] = [
    "fixed_line",
    "mobile",
    "toll_free",
    "premium_rate",
    "shared_cost",
    "personal",
    "voip",
    "uan",
];

/// Number of columns in front of those of [`KINDS`].
const COLUMNS_BEFORE_KINDS: usize = 9;

/// The numbering plan of one region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    line: &'static str,
}

/// A national format: pattern of the number, pattern of its leading digits, format string.
pub(super) struct Form {
    pub(super) pattern: &'static str,
    pub(super) leading: &'static str,
    pub(super) form: &'static str,
}

impl Region {
    /// All regions in the order of their codes.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        LINES.iter().map(|&line| Self { line })
    }

    /// The region of an ISO 3166-1 alpha-2 code in upper case.
    pub(crate) fn of(code: &str) -> Option<Self> {
        Self::all().find(|region| region.code() == code)
    }

    /// The regions of a calling code, the main one first.
    pub(super) fn of_calling_code(calling_code: &str) -> Vec<Self> {
        let mut regions: Vec<Self> = Self::all()
            .filter(|region| region.calling_code() == calling_code)
            .collect();
        regions.sort_by_key(|region| !region.is_main());
        regions
    }

    fn column(self, index: usize) -> &'static str {
        self.line.split('\t').nth(index).unwrap_or_default()
    }

    /// ISO 3166-1 alpha-2 code, or `001` for numbers of no country.
    pub(crate) fn code(self) -> &'static str {
        self.line.split('\t').next().unwrap_or_default()
    }

    /// The calling code without `+`.
    pub(crate) fn calling_code(self) -> &'static str {
        self.column(1)
    }

    fn is_main(self) -> bool {
        self.column(2) == "1"
    }

    /// Pattern of the international prefix.
    pub(super) fn international_prefix(self) -> &'static str {
        self.column(3)
    }

    /// National prefix; empty for none.
    pub(crate) fn national_prefix(self) -> &'static str {
        self.column(4)
    }

    /// Pattern of the national prefix in front of a number.
    pub(super) fn prefix_pattern(self) -> &'static str {
        match self.column(5) {
            "" => self.national_prefix(),
            pattern => pattern,
        }
    }

    /// Replacement for the prefix if its last group matched.
    pub(super) fn prefix_form(self) -> &'static str {
        self.column(6)
    }

    /// Pattern of the leading digits if other regions share the calling code.
    pub(super) fn leading(self) -> &'static str {
        self.column(7)
    }

    /// Pattern of all numbers of the region.
    pub(super) fn general(self) -> &'static str {
        self.column(8)
    }

    /// Types of numbers: name, lengths separated by commas, pattern.
    pub(super) fn kinds(self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let columns = self.line.split('\t').skip(COLUMNS_BEFORE_KINDS);
        KINDS.iter().zip(columns).filter_map(|(name, column)| {
            let (lengths, pattern) = column.split_once(':')?;
            Some((*name, lengths, pattern))
        })
    }

    /// National formats; the first match is used.
    pub(super) fn forms(self) -> impl Iterator<Item = Form> {
        let forms = self.column(COLUMNS_BEFORE_KINDS + KINDS.len());
        forms.split('@').filter_map(|form| {
            let mut parts = form.split('~');
            Some(Form {
                pattern: parts.next()?,
                leading: parts.next()?,
                form: parts.next()?,
            })
        })
    }
}
