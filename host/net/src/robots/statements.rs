//! What one header, `meta` element or line of a robots.txt says about the use of pages. Pure.

use trawl_model::{Purpose, Rights};

use super::tag;

/// Where a statement stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    RobotsContentUsage,
    RobotsContentSignal,
    ContentUsage,
    ContentSignal,
    RobotsTag,
    MetaRobots,
    TdmReservation,
    MetaTdmReservation,
}

impl Source {
    /// Its name in `metadata.rights`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::RobotsContentUsage => "robots.txt content-usage",
            Self::RobotsContentSignal => "robots.txt content-signal",
            Self::ContentUsage => "content-usage",
            Self::ContentSignal => "content-signal",
            Self::RobotsTag => "x-robots-tag",
            Self::MetaRobots => "meta robots",
            Self::TdmReservation => "tdm-reservation",
            Self::MetaTdmReservation => "meta tdm-reservation",
        }
    }
}

/// What a list says about each of [`Purpose::ALL`]; `None` if nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses([Option<bool>; 3]);

impl Uses {
    pub(super) fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Adds what it says, as of this source.
    pub(super) fn say(self, rights: &mut Rights, source: Source) {
        for (purpose, said) in Purpose::ALL.into_iter().zip(self.0) {
            if let Some(is_allowed) = said {
                rights.say(purpose, is_allowed, source.name());
            }
        }
    }
}

/// Names of each of [`Purpose::ALL`]: in `Content-Signal`, and in the versions of
/// draft-ietf-aipref-vocab.
const NAMES: [&[&str]; 3] = [
    &["search"],
    &["ai-input", "ai-use", "ai-output"],
    &["ai-train", "train-ai", "train-genai"],
];

/// Reads `train-ai=n, search=y` or `ai-train=no,search=yes`: a dictionary of RFC 9651 as far as it
/// has the known names, whose members may have parameters. Of several names of one use, a refusal
/// holds. `bots` means every use that has no member of its own.
pub(super) fn uses(list: &str) -> Uses {
    let of_all = answer_of(list, "bots");
    Uses(NAMES.map(|names| {
        let said = names.iter().filter_map(|name| answer_of(list, name));
        said.reduce(|one, other| one && other).or(of_all)
    }))
}

/// What a list says of one name: of several members, the last one counts (RFC 9651 section 3.2).
fn answer_of(list: &str, wanted: &str) -> Option<bool> {
    list.rsplit(',').find_map(|member| {
        let (name, value) = member.split(';').next()?.split_once('=')?;
        let is_wanted = name.trim().eq_ignore_ascii_case(wanted);
        answer(value).filter(|_| is_wanted)
    })
}

fn answer(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

/// Adds what directives of `X-Robots-Tag` or `meta name=robots` say to the crawler with this
/// product token: `noindex` and `none` refuse search, `noai` both uses by models.
pub(super) fn directives(rights: &mut Rights, source: Source, list: &str, token: &str) {
    for directive in tag::directives(list, token) {
        match directive.trim().to_ascii_lowercase().as_str() {
            "noindex" | "none" => {
                rights.no_index = true;
                rights.say(Purpose::Search, false, source.name());
            }
            "noai" => {
                rights.say(Purpose::AiInput, false, source.name());
                rights.say(Purpose::AiTrain, false, source.name());
            }
            "noimageai" => rights.no_image_ai = true,
            _ => {}
        }
    }
}

/// Adds what `tdm-reservation` says: `1` reserves text and data mining, which input and training of
/// models are; `0` reserves nothing. W3C TDM Reservation Protocol, section 4.
pub(super) fn tdm_reservation(rights: &mut Rights, source: Source, value: &str) {
    let is_allowed = match value.trim() {
        "0" => true,
        "1" => false,
        _ => return,
    };
    rights.say(Purpose::AiInput, is_allowed, source.name());
    rights.say(Purpose::AiTrain, is_allowed, source.name());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_uses_are_read() {
        let (yes, no) = (Some(true), Some(false));
        for (list, expected) in [
            ("search=yes,ai-input=no,ai-train=no", [yes, no, no]),
            ("train-ai=n, search=y", [yes, None, no]),
            (" Search = YES ; a=1 , other=n", [yes, None, None]),
            ("bots=n, search=y", [yes, no, no]),
            ("search=y, search=n", [no, None, None]),
            ("ai-output=n", [None, no, None]),
            ("ai-use=n", [None, no, None]),
            ("train-ai=n, train-genai=y", [None, None, no]),
            ("ai-output=y, ai-use=n, ai-input=y", [None, no, None]),
            ("search", [None; 3]),
            ("search=maybe,=y,", [None; 3]),
            ("", [None; 3]),
        ] {
            assert_eq!(uses(list), Uses(expected), "{list}");
        }
    }

    #[test]
    fn directives_refuse_uses() {
        let said = |list: &str| {
            let mut rights = Rights::default();
            directives(&mut rights, Source::RobotsTag, list, "Trawl");
            let allowed = Purpose::ALL.map(|purpose| rights.allowed(purpose));
            (allowed, rights.no_index, rights.no_image_ai)
        };
        let no = Some(false);
        assert_eq!(said("noindex, nofollow"), ([no, None, None], true, false));
        assert_eq!(said("NONE"), ([no, None, None], true, false));
        assert_eq!(said("noai,noimageai"), ([None, no, no], false, true));
        assert_eq!(said("trawl: noai"), ([None, no, no], false, false));
        assert_eq!(said("otherbot: noai, noindex"), ([None; 3], false, false));
        assert_eq!(said("max-snippet: none"), ([None; 3], false, false));
    }

    #[test]
    fn a_reservation_is_one_or_zero() {
        let said = |value: &str| {
            let mut rights = Rights::default();
            tdm_reservation(&mut rights, Source::TdmReservation, value);
            Purpose::ALL.map(|purpose| rights.allowed(purpose))
        };
        assert_eq!(said(" 1"), [None, Some(false), Some(false)]);
        assert_eq!(said("0"), [None, Some(true), Some(true)]);
        assert_eq!(said("yes"), [None; 3]);
    }
}
