//! Recognizes questions.

use trawl_rank::{Language, each_word};

/// Maximum number of words in a question without a question mark.
const WORDS_MAX: usize = 16;

/// First words of questions. An entry of two words needs both.
const OPENINGS: [(Language, &str); 13] = [
    (
        Language::English,
        "how,what,whats,why,when,where,who,which,can i,can you,do i,do you,does it,is it,is there,are there,should i,will i,may i",
    ),
    (
        Language::German,
        "wie,was,warum,wieso,wann,wo,woher,wer,welche,welcher,welches,wieviel,kann ich,muss ich,darf ich,gibt es,brauche ich,bieten sie",
    ),
    (
        Language::French,
        "comment,pourquoi,quand,où,quel,quelle,quels,quelles,combien,qu'est,qu’est,est ce,puis je,peut on,faut il,y a,que faire",
    ),
    (
        Language::Spanish,
        "cómo,qué,cuándo,dónde,quién,cuál,cuáles,cuánto,cuánta,cuántos,por qué,puedo,hay que",
    ),
    (
        Language::Italian,
        "come,cosa,perché,quando,dove,chi,quale,quali,quanto,quanti,che cosa,posso,è possibile",
    ),
    (
        Language::Portuguese,
        "como,o que,por que,porquê,quando,onde,quem,qual,quais,quanto,posso,é possível",
    ),
    (
        Language::Dutch,
        "hoe,wat,waarom,wanneer,waar,wie,welke,hoeveel,kan ik,moet ik,mag ik",
    ),
    (
        Language::Swedish,
        "hur,vad,varför,när,vem,vilken,vilka,kan jag",
    ),
    (
        Language::Danish,
        "hvordan,hvad,hvorfor,hvornår,hvor,hvem,hvilken,kan jeg",
    ),
    (
        Language::Norwegian,
        "hvordan,hva,hvorfor,når,hvor,hvem,hvilken,kan jeg",
    ),
    (
        Language::Finnish,
        "miten,mikä,mitä,miksi,milloin,missä,kuka,voinko",
    ),
    (
        Language::Russian,
        "как,что,почему,когда,где,кто,какой,какие,сколько,зачем,можно ли",
    ),
    (Language::Turkish, "nasıl,neden,nerede,hangi,kim"),
];

/// First words, and ends, of questions in languages that are recognized regardless of the declared
/// page language.
const EASTERN: &str = "如何,什么,怎么,为什么,是否,どうすれば,なぜ,어떻게,왜";
const EASTERN_ENDS: &str = "ですか,ますか,吗,呢";
/// Polish and Czech question words, which start no heading in another language.
const SLAVIC: &str = "jak,dlaczego,kiedy,gdzie,kto,czy,ile,proč,kdy,kde,kolik,jaký";

/// Whether a text ends like a question.
pub(crate) fn is_asked(text: &str) -> bool {
    let text = text
        .trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '”' | '»' | ')' | '*'));
    text.ends_with(['?', '？', '؟', '\u{37e}']) || text.starts_with('¿')
}

/// Whether a heading is a question: by its question mark, or by its first words in the page's
/// language.
pub(crate) fn is_question(text: &str, language: Language) -> bool {
    if is_asked(text) {
        return true;
    }
    let text = text.trim();
    if EASTERN.split(',').any(|word| text.starts_with(word))
        || EASTERN_ENDS.split(',').any(|end| text.ends_with(end))
    {
        return true;
    }
    let mut words: Vec<String> = Vec::new();
    each_word(text, |word| words.push(word.to_owned()));
    if !(2..WORDS_MAX).contains(&words.len()) || text.ends_with(['!', '.', ':']) {
        return false;
    }
    let known = OPENINGS.iter().find(|(own, _)| *own == language);
    let openings = known.map_or(SLAVIC, |(_, openings)| *openings);
    openings
        .split(',')
        .any(|opening| match opening.split_once(' ') {
            Some((first, second)) => words[0] == first && words[1] == second,
            None => words[0] == opening,
        })
}
