//! Questions in headings, and definition lists.

use trawl_rank::{Block, BlockKind, Language, Region};
use trawl_sdk::{Element, Tag};

use crate::pair::{ANSWER_CHARS_MAX, From, Pair, QUESTION_CHARS_MAX, is_marked_question};
use crate::question::{is_asked, is_question};

/// Level of a paragraph that acts as a heading: below all real headings.
const PSEUDO_LEVEL: u8 = 7;
/// Maximum share of links in an answer; above it the block is a list of links.
const LINK_SHARE_MAX: f32 = 0.8;
/// Minimum number of words in a definition; anything shorter is a value (`Weight: 3 kg`).
const DEFINITION_WORDS_MIN: usize = 4;

/// The pairs from headings and definition lists.
pub(crate) fn pairs(blocks: &[Block<'_>], language: Language) -> Vec<Pair> {
    let levels: Vec<Option<(u8, bool)>> =
        blocks.iter().map(|block| level(block, language)).collect();
    let mut pairs = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let pair = match levels[at] {
            Some((level, true)) => {
                let answer = below(blocks, &levels, at, level);
                Pair::new(&block.text, &answer, From::FaqHeading)
            }
            _ if block.kind == BlockKind::Term => definition(blocks, at),
            _ => None,
        };
        pairs.extend(pair);
    }
    pairs
}

/// The level of a heading and whether it is a question.
fn level(block: &Block<'_>, language: Language) -> Option<(u8, bool)> {
    if matches!(block.region, Region::Nav | Region::Notice) {
        return None;
    }
    let is_short = block.text.chars().count() <= QUESTION_CHARS_MAX;
    match block.kind {
        BlockKind::Heading(level) => Some((level, is_short && is_question(&block.text, language))),
        BlockKind::Paragraph | BlockKind::Item if is_short => {
            let is_pseudo =
                is_marked_question(&block.text) || (block.is_bold && is_asked(&block.text));
            is_pseudo.then_some((PSEUDO_LEVEL, true))
        }
        _ => None,
    }
}

/// The text below a heading, up to the next heading of the same or a higher level, or the next
/// question.
fn below(blocks: &[Block<'_>], levels: &[Option<(u8, bool)>], heading: usize, own: u8) -> String {
    let mut text = String::new();
    for (block, level) in blocks.iter().zip(levels).skip(heading + 1) {
        let is_end = level.is_some_and(|(level, asks)| level <= own || asks);
        if is_end || text.len() > ANSWER_CHARS_MAX || block.region != blocks[heading].region {
            break;
        }
        if block.link_share > LINK_SHARE_MAX {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&block.text);
    }
    text
}

/// The definition list that contains a block.
fn list<'a>(block: &Block<'a>) -> Option<Element<'a>> {
    block
        .element
        .ancestors()
        .find(|outer| outer.tag() == Tag::Dl)
}

/// A term with the definitions that follow it.
fn definition(blocks: &[Block<'_>], term: usize) -> Option<Pair> {
    let block = &blocks[term];
    if matches!(block.region, Region::Nav | Region::Footer | Region::Notice) {
        return None;
    }
    let own = list(block)?;
    let following = blocks[term + 1..].iter();
    let definitions = following
        .skip_while(|block| block.kind == BlockKind::Term)
        .take_while(|block| block.kind == BlockKind::Definition && list(block) == Some(own));
    let texts: Vec<&str> = definitions.map(|block| block.text.as_str()).collect();
    let answer = texts.join("\n");
    let is_said =
        answer.split_whitespace().count() >= DEFINITION_WORDS_MIN || is_asked(&block.text);
    is_said.then(|| Pair::new(&block.text, &answer, From::DefinitionList))?
}
