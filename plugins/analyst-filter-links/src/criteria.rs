//! What a prompt asks of links: words of a subject, types, kinds of files, and what it excludes.

use trawl_sdk::rank::{Language, each_word, fold};

use crate::content_type::ContentType;

/// What links are asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Criteria {
    /// Words of the subject.
    pub(crate) query: String,
    /// Types that are wanted; all when there are none.
    pub(crate) types: Vec<ContentType>,
    /// Types that are not.
    pub(crate) not_types: Vec<ContentType>,
    /// Kinds of files that are wanted, and not.
    pub(crate) files: Vec<&'static FileKind>,
    pub(crate) not_files: Vec<&'static FileKind>,
    /// Words that no link may have.
    pub(crate) not_words: Vec<String>,
    /// Whether links must stay on the page's host, or leave it.
    pub(crate) is_internal: Option<bool>,
}

/// A kind of file that prompts name.
#[derive(Debug, PartialEq)]
pub(crate) struct FileKind {
    names: &'static [&'static str],
    /// Endings of addresses.
    pub(crate) extensions: &'static [&'static str],
}

const FILE_KINDS: &[FileKind] = &[
    FileKind {
        names: &["pdf", "pdfs"],
        extensions: &["pdf"],
    },
    FileKind {
        names: &[
            "image", "images", "picture", "pictures", "photo", "photos", "bild", "bilder",
            "imagenes", "immagini",
        ],
        extensions: &["jpg", "jpeg", "png", "gif", "webp", "avif", "svg"],
    },
    FileKind {
        names: &["spreadsheet", "spreadsheets", "excel", "xlsx", "xls", "csv"],
        extensions: &["xls", "xlsx", "csv", "ods"],
    },
    FileKind {
        names: &["docx", "word"],
        extensions: &["doc", "docx", "odt"],
    },
    FileKind {
        names: &["zip", "archives"],
        extensions: &["zip", "gz", "tgz", "rar", "7z"],
    },
    FileKind {
        names: &["mp3", "audio"],
        extensions: &["mp3", "wav", "ogg", "flac", "m4a"],
    },
    FileKind {
        names: &["mp4"],
        extensions: &["mp4", "webm", "mov"],
    },
];

const NEGATIONS: &[&str] = &[
    "not",
    "no",
    "without",
    "except",
    "exclude",
    "excluding",
    "ignore",
    "skip",
    "nothing",
    "non",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "ohne",
    "ausser",
    "sans",
    "pas",
    "sauf",
    "exclure",
    "sin",
    "excepto",
    "excluir",
    "senza",
    "escludi",
    "tranne",
    "sem",
    "exceto",
    "zonder",
    "geen",
    "bez",
];
const TURNS: &[&str] = &[
    "but",
    "only",
    "just",
    "aber",
    "sondern",
    "nur",
    "mais",
    "seulement",
    "pero",
    "solo",
    "ma",
    "maar",
    "alleen",
    "mas",
    "apenas",
];

/// Words about links and asking, not about the subject.
const FILLERS: &[&str] = &[
    "only",
    "just",
    "all",
    "any",
    "every",
    "everything",
    "link",
    "links",
    "url",
    "urls",
    "page",
    "pages",
    "site",
    "website",
    "section",
    "sections",
    "file",
    "files",
    "document",
    "documents",
    "find",
    "show",
    "give",
    "get",
    "list",
    "me",
    "please",
    "relevant",
    "related",
    "relating",
    "regarding",
    "concerning",
    "about",
    "on",
    "of",
    "for",
    "the",
    "a",
    "an",
    "to",
    "that",
    "which",
    "are",
    "is",
    "and",
    "or",
    "with",
    "in",
    "from",
    "want",
    "need",
    "interested",
    "content",
    "main",
    "filter",
    "keep",
    "include",
    "types",
    "type",
    "nur",
    "alle",
    "seite",
    "seiten",
    "zu",
    "uber",
    "und",
    "oder",
    "mit",
    "von",
    "fur",
    "die",
    "der",
    "das",
    "bitte",
    "zeige",
    "finde",
    "dateien",
    "toutes",
    "tous",
    "les",
    "pages",
    "sur",
    "liens",
    "des",
    "de",
    "la",
    "le",
    "et",
    "ou",
    "uniquement",
    "seulement",
    "solo",
    "paginas",
    "enlaces",
    "sobre",
    "y",
    "o",
    "los",
    "las",
    "el",
    "pagine",
    "su",
    "di",
    "sui",
    "e",
    "tutti",
    "tutte",
    "alleen",
    "over",
    "pagina",
    "paginas",
    "s",
    "but",
    "aber",
    "mais",
    "pero",
];

/// Words that name a type when nothing of the subject follows.
const TYPE_WORDS: &[(ContentType, &[&str])] = &[
    (
        ContentType::Article,
        &[
            "article",
            "articles",
            "blog",
            "blogs",
            "post",
            "posts",
            "news",
            "story",
            "stories",
            "artikel",
            "nachrichten",
            "beitrage",
            "blogbeitrage",
            "articulos",
            "articulo",
            "noticias",
            "articoli",
            "notizie",
            "artigos",
            "nieuws",
            "actualites",
            "nouvelles",
            "press",
        ],
    ),
    (
        ContentType::Product,
        &[
            "product",
            "products",
            "item",
            "items",
            "produkt",
            "produkte",
            "produktseiten",
            "produit",
            "produits",
            "producto",
            "productos",
            "prodotto",
            "prodotti",
            "produtos",
            "producten",
        ],
    ),
    (
        ContentType::Contact,
        &[
            "contact",
            "contacts",
            "kontakt",
            "kontaktseite",
            "kontaktseiten",
            "contacto",
            "contatti",
            "contato",
        ],
    ),
    (
        ContentType::About,
        &[
            "company",
            "team",
            "imprint-about",
            "unternehmen",
            "unternehmensseiten",
        ],
    ),
    (
        ContentType::Documentation,
        &[
            "documentation",
            "docs",
            "doc",
            "manual",
            "manuals",
            "guides",
            "tutorials",
            "dokumentation",
            "handbuch",
            "anleitungen",
            "documentacion",
            "documentazione",
            "help",
            "hilfe",
            "faq",
            "faqs",
        ],
    ),
    (
        ContentType::Listing,
        &[
            "listing",
            "listings",
            "category",
            "categories",
            "kategorie",
            "kategorien",
            "kategorieseiten",
            "pagination",
            "archive",
            "search",
            "categorias",
            "categorie",
        ],
    ),
    (
        ContentType::Legal,
        &[
            "legal",
            "privacy",
            "terms",
            "imprint",
            "impressum",
            "datenschutz",
            "rechtliches",
            "agb",
            "cookies",
        ],
    ),
    (
        ContentType::Login,
        &[
            "login",
            "logins",
            "signin",
            "signup",
            "account",
            "accounts",
            "register",
            "registration",
            "anmeldung",
            "cart",
            "checkout",
            "warenkorb",
            "connexion",
        ],
    ),
    (
        ContentType::Media,
        &[
            "media",
            "video",
            "videos",
            "image",
            "images",
            "gallery",
            "galleries",
            "podcast",
            "podcasts",
            "medien",
        ],
    ),
    (ContentType::Download, &["download", "downloads"]),
];

/// The type that a word names.
pub(crate) fn type_word(word: &str) -> Option<ContentType> {
    let word = fold(word);
    TYPE_WORDS
        .iter()
        .find(|(_, names)| names.contains(&word.as_str()))
        .map(|(own, _)| *own)
}

fn file_kind(word: &str) -> Option<&'static FileKind> {
    FILE_KINDS.iter().find(|kind| kind.names.contains(&word))
}

impl Criteria {
    /// What a prompt asks for. Clauses end at commas and full stops; a negation holds to the end of its clause.
    pub(crate) fn of(prompt: &str) -> Self {
        let mut criteria = Self::default();
        for clause in prompt.split([',', ';', '.', '\n', '(', ')', ':']) {
            criteria.read(clause);
        }
        criteria.query = criteria.query.trim().to_owned();
        criteria
    }

    fn read(&mut self, clause: &str) {
        let mut shown = Vec::new();
        each_word(clause, |word| shown.push(word.to_owned()));
        let words: Vec<String> = shown.iter().map(|word| fold(word)).collect();
        let mut is_negated = false;
        let mut at = 0;
        while at < words.len() {
            let word = words[at].as_str();
            let next = words.get(at + 1).map(String::as_str);
            if NEGATIONS.contains(&word) {
                is_negated = true;
            } else if TURNS.contains(&word) {
                is_negated = false;
            } else if matches!(word, "internal" | "interne" | "internos")
                || matches!(word, "external" | "externe" | "externos" | "outbound")
            {
                let is_internal = matches!(word, "internal" | "interne" | "internos");
                self.is_internal = Some(is_internal != is_negated);
            } else if word == "about"
                && (matches!(next, Some("us" | "page" | "pages")) || words.len() == 1)
            {
                self.add_type(ContentType::About, is_negated);
                at += usize::from(next == Some("us"));
            } else if matches!((word, next), ("sign" | "log", Some("in" | "up"))) {
                self.add_type(ContentType::Login, is_negated);
                at += 1;
            } else if let Some(kind) = file_kind(word) {
                let kinds = if is_negated {
                    &mut self.not_files
                } else {
                    &mut self.files
                };
                kinds.push(kind);
            } else if let Some(own) = type_word(word).filter(|_| is_named(&words, at, is_negated)) {
                self.add_type(own, is_negated);
            } else if !is_filler(word) {
                match is_negated {
                    true => self.not_words.push(shown[at].clone()),
                    false => {
                        self.query.push(' ');
                        self.query.push_str(&shown[at]);
                    }
                }
            }
            at += 1;
        }
    }

    fn add_type(&mut self, own: ContentType, is_negated: bool) {
        let types = if is_negated {
            &mut self.not_types
        } else {
            &mut self.types
        };
        if !types.contains(&own) {
            types.push(own);
        }
    }

    /// Whether anything is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Whether the word at a place names a type of page rather than a part of the subject: `product pages`, not `product safety`.
fn is_named(words: &[String], at: usize, is_negated: bool) -> bool {
    let next = words.get(at + 1).map(String::as_str);
    let is_closed = next.is_none_or(|next| {
        is_filler(next)
            || TURNS.contains(&next)
            || NEGATIONS.contains(&next)
            || type_word(next).is_some()
    });
    let previous = at.checked_sub(1).map(|before| words[before].as_str());
    // What stands before it in the same breath makes it a part of a name: `annual press`, `climate news`.
    let is_compound = previous.is_some_and(|previous| {
        !is_filler(previous) && !NEGATIONS.contains(&previous) && type_word(previous).is_none()
    });
    let is_said_page = matches!(
        next,
        Some(
            "page" | "pages" | "link" | "links" | "seite" | "seiten" | "paginas" | "post" | "posts"
        )
    );
    is_negated || (is_closed && (!is_compound || is_said_page || is_plural(&words[at])))
}

fn is_plural(word: &str) -> bool {
    matches!(
        word,
        "articles"
            | "posts"
            | "products"
            | "produkte"
            | "produits"
            | "productos"
            | "prodotti"
            | "articulos"
            | "articoli"
            | "tutorials"
            | "guides"
            | "docs"
            | "documentation"
            | "videos"
            | "downloads"
            | "manuals"
            | "stories"
    )
}

fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
        || [Language::English, Language::German]
            .iter()
            .any(|own| own.stop_words().contains(&word))
}
