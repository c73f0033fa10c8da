//! Media types of members by the endings of their names: an archive does not say what they are.

/// Endings and what they mean.
const ENDINGS: [(&str, &str); 57] = [
    ("atom", "application/atom+xml"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("c", "text/x-c"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("eml", "message/rfc822"),
    ("epub", "application/epub+zip"),
    ("geojson", "application/geo+json"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("h", "text/x-c"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("ics", "text/calendar"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("kt", "text/x-kotlin"),
    ("mbox", "application/mbox"),
    ("ndjson", "application/x-ndjson"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rdf", "application/rdf+xml"),
    ("rs", "text/x-rust"),
    ("rss", "application/rss+xml"),
    ("rtf", "application/rtf"),
    ("sh", "text/x-sh"),
    ("sql", "application/sql"),
    ("swift", "text/x-swift"),
    ("tex", "text/x-tex"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ts", "application/typescript"),
    ("tsv", "text/tab-separated-values"),
    ("vcf", "text/vcard"),
    ("webp", "image/webp"),
    ("xhtml", "application/xhtml+xml"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// The media type of a member; empty if its first bytes decide.
pub(crate) fn of(name: &str) -> &'static str {
    let Some((_, ending)) = name.rsplit_once('.') else {
        return "";
    };
    let mut endings = ENDINGS.iter();
    let known = endings.find(|(known, _)| ending.eq_ignore_ascii_case(known));
    known.map_or("", |(_, media_type)| *media_type)
}
