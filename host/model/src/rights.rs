//! What sites say about the use of their pages: search, input of language models, training.

use serde_json::{Map, Value, json};

/// Licences of one page that are kept. A page has one or two.
pub const LICENSES_MAX: usize = 20;
/// Longest URL of a licence that is read and kept, in bytes: it is repeated with every page.
pub const LICENSE_BYTES_MAX: usize = 1_000;

/// What a page is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// An index of pages that answers with links and excerpts.
    Search,
    /// Input of a language model that answers a question.
    AiInput,
    /// Training of a model.
    AiTrain,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 3] = [Self::Search, Self::AiInput, Self::AiTrain];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::AiInput => "ai-input",
            Self::AiTrain => "ai-train",
        }
    }
}

/// One thing that a site says about a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Statement {
    purpose: Purpose,
    is_allowed: bool,
    /// Where it stands: `robots.txt content-signal`, `meta robots`.
    source: &'static str,
}

/// What a site says about the use of one page. Of statements that differ, the refusal holds, as in
/// draft-ietf-aipref-vocab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    statements: Vec<Statement>,
    /// URLs of licences and of policies on licences, each once.
    licenses: Vec<String>,
    /// Whether `noindex` is said.
    pub no_index: bool,
    /// Whether `noimageai` is said: images of the page are for no model.
    pub no_image_ai: bool,
}

impl Rights {
    /// Adds what a source says about a use. The same again is one statement.
    pub fn say(&mut self, purpose: Purpose, is_allowed: bool, source: &'static str) {
        let statement = Statement {
            purpose,
            is_allowed,
            source,
        };
        if !self.statements.contains(&statement) {
            self.statements.push(statement);
        }
    }

    /// Adds the URL of a licence, unless there are [`LICENSES_MAX`] or it is longer than
    /// [`LICENSE_BYTES_MAX`].
    pub fn add_license(&mut self, url: String) {
        let fits = self.licenses.len() < LICENSES_MAX && url.len() <= LICENSE_BYTES_MAX;
        if fits && !self.licenses.contains(&url) {
            self.licenses.push(url);
        }
    }

    /// Adds all that others say.
    pub fn merge(&mut self, others: &Self) {
        for said in &others.statements {
            self.say(said.purpose, said.is_allowed, said.source);
        }
        for license in &others.licenses {
            self.add_license(license.clone());
        }
        self.no_index |= others.no_index;
        self.no_image_ai |= others.no_image_ai;
    }

    /// Whether a use is allowed; `None` if nothing is said about it.
    pub fn allowed(&self, purpose: Purpose) -> Option<bool> {
        let mut said = self.of(purpose).peekable();
        said.peek()?;
        Some(said.all(|statement| statement.is_allowed))
    }

    /// The first source that refuses a use.
    pub fn refused_by(&self, purpose: Purpose) -> Option<&'static str> {
        let mut said = self.of(purpose);
        let refusal = said.find(|statement| !statement.is_allowed);
        refusal.map(|statement| statement.source)
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// `metadata.rights`: by purpose `{"allowed": bool, "sources": [string]}`, absent if nothing is
    /// said about it, with the sources that say what holds; `licenses`, a list of URLs, and
    /// `noindex` and `noimageai`, which are true, if there are any.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        for purpose in Purpose::ALL {
            if let Some(is_allowed) = self.allowed(purpose) {
                let said = self.of(purpose);
                let deciding = said.filter(|statement| statement.is_allowed == is_allowed);
                let sources: Vec<&str> = deciding.map(|statement| statement.source).collect();
                let value = json!({"allowed": is_allowed, "sources": sources});
                object.insert(purpose.name().to_owned(), value);
            }
        }
        if !self.licenses.is_empty() {
            object.insert("licenses".to_owned(), json!(self.licenses));
        }
        for (name, is_said) in [("noindex", self.no_index), ("noimageai", self.no_image_ai)] {
            if is_said {
                object.insert(name.to_owned(), true.into());
            }
        }
        object.into()
    }

    fn of(&self, purpose: Purpose) -> impl Iterator<Item = &Statement> {
        let said = self.statements.iter();
        said.filter(move |statement| statement.purpose == purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_holds_against_a_permission() {
        let mut rights = Rights::default();
        assert!(rights.is_empty());
        assert_eq!(rights.allowed(Purpose::Search), None);
        rights.say(Purpose::Search, true, "one");
        rights.say(Purpose::Search, true, "one");
        assert_eq!(rights.allowed(Purpose::Search), Some(true));
        assert_eq!(rights.refused_by(Purpose::Search), None);
        rights.say(Purpose::Search, false, "two");
        rights.say(Purpose::AiTrain, true, "three");
        assert_eq!(rights.allowed(Purpose::Search), Some(false));
        assert_eq!(rights.refused_by(Purpose::Search), Some("two"));
        assert_eq!(
            rights.to_json(),
            json!({
                "search": {"allowed": false, "sources": ["two"]},
                "ai-train": {"allowed": true, "sources": ["three"]},
            })
        );
    }

    #[test]
    fn merged_rights_have_what_both_say() {
        let mut one = Rights::default();
        one.say(Purpose::AiInput, true, "one");
        one.add_license("https://a.example/l".to_owned());
        let mut other = Rights::default();
        other.say(Purpose::AiInput, false, "two");
        other.add_license("https://a.example/l".to_owned());
        other.no_index = true;
        other.no_image_ai = true;
        one.merge(&other);
        assert_eq!(
            one.to_json(),
            json!({
                "ai-input": {"allowed": false, "sources": ["two"]},
                "licenses": ["https://a.example/l"], "noindex": true, "noimageai": true,
            })
        );
    }

    #[test]
    fn the_licenses_of_a_page_are_bounded() {
        let mut rights = Rights::default();
        rights.add_license(format!(
            "https://a.example/{}",
            "x".repeat(LICENSE_BYTES_MAX)
        ));
        assert!(rights.is_empty(), "too long");
        for number in 0..LICENSES_MAX + 5 {
            rights.add_license(format!("https://a.example/{number}"));
        }
        let json = rights.to_json();
        assert_eq!(
            json["licenses"].as_array().map(Vec::len),
            Some(LICENSES_MAX)
        );
    }
}
