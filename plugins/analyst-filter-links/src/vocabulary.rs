//! Vocabulary of prompts: file types, and words without topical meaning. Accents are folded.

use analyst_base::lists;
use trawl_rank::Language;

/// A file type: its names in prompts, and its file extensions in URLs.
#[derive(Debug, PartialEq)]
pub(crate) struct FileKind {
    names: &'static str,
    pub(crate) extensions: &'static str,
}

const fn kind(names: &'static str, extensions: &'static str) -> FileKind {
    FileKind { names, extensions }
}

static FILE_KINDS: [FileKind; 7] = [
    kind("pdf pdfs", "pdf"),
    kind(
        "image images picture pictures photo photos bild bilder imagenes immagini",
        "jpg jpeg png gif webp avif svg",
    ),
    kind(
        "spreadsheet spreadsheets excel xlsx xls csv",
        "xls xlsx csv ods",
    ),
    kind("docx word", "doc docx odt"),
    kind("zip archives", "zip gz tgz rar 7z"),
    kind("mp3 audio", "mp3 wav ogg flac m4a"),
    kind("mp4", "mp4 webm mov"),
];

/// Words that negate what follows.
pub(crate) const NEGATIONS: &str = "not no without except exclude excluding ignore skip nothing non nicht kein keine keinen \
    ohne ausser sans pas sauf exclure sin excepto excluir senza escludi tranne sem exceto \
    zonder geen bez";
/// Words that end a negation.
pub(crate) const NEGATION_ENDS: &str =
    "but only just aber sondern nur mais seulement pero solo ma maar alleen mas apenas";
/// Words about links and requests, not about a topic.
const FILLERS: &str = "only just all any every everything link links url urls page pages site website section \
    sections file files document documents find show give get list me please relevant \
    related relating regarding concerning about on of for the a an to that which are is and \
    or with in from want need interested content main filter keep include types type nur \
    alle seite seiten zu uber und oder mit von fur die der das bitte zeige finde dateien \
    toutes tous les sur liens des de la le et ou uniquement seulement solo paginas enlaces \
    sobre y o los las el pagine su di sui e tutti tutte alleen over pagina s but aber mais \
    pero";

/// The file type a word names.
pub(crate) fn file_kind(word: &str) -> Option<&'static FileKind> {
    FILE_KINDS.iter().find(|kind| lists(kind.names, word))
}

/// Whether a word has no topical meaning.
pub(crate) fn is_filler(word: &str) -> bool {
    lists(FILLERS, word)
        || [Language::English, Language::German]
            .iter()
            .any(|own| own.stop_words().contains(&word))
}
