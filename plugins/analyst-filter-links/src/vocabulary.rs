//! Vocabulary of prompts: file types, page types, and words without topical meaning. Accents are
//! folded.

use trawl_sdk::rank::{Language, fold};

use crate::content_type::{ALL, ContentType};

/// A file type and its names in prompts.
#[derive(Debug, PartialEq)]
pub(crate) struct FileKind {
    names: &'static [&'static str],
    /// File extensions in URLs.
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

/// Words that negate what follows.
pub(crate) const NEGATIONS: &[&str] = &[
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
/// Words that end a negation.
pub(crate) const NEGATION_ENDS: &[&str] = &[
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

/// Words about links and requests, not about a topic.
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

/// Words that name a page type unless they are part of a compound.
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

/// The type that a caller names: by its own name, or by a word for such pages.
pub(crate) fn named_type(name: &str) -> Option<ContentType> {
    let name = name.trim().to_lowercase();
    let exact = ALL.iter().find(|(own, _)| *own == name);
    exact.map(|(_, own)| *own).or_else(|| type_word(&name))
}

/// The page type a word names.
pub(crate) fn type_word(word: &str) -> Option<ContentType> {
    let word = fold(word);
    TYPE_WORDS
        .iter()
        .find(|(_, names)| names.contains(&word.as_str()))
        .map(|(own, _)| *own)
}

/// The file type a word names.
pub(crate) fn file_kind(word: &str) -> Option<&'static FileKind> {
    FILE_KINDS.iter().find(|kind| kind.names.contains(&word))
}

/// Whether a word has no topical meaning.
pub(crate) fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word)
        || [Language::English, Language::German]
            .iter()
            .any(|own| own.stop_words().contains(&word))
}
