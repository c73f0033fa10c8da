//! Which countries the numbers of a page are of: what the caller says, then what the page says of itself, the surest first.

use trawl_sdk::embedded::string;
use url::Url;

use super::Region;
use crate::page::Page;

/// Most countries that are tried.
const HOMES_MAX: usize = 5;

/// Top-level domains of countries that are used for their sound.
const SOUND: [&str; 18] = [
    "ai", "am", "cc", "cd", "co", "dj", "fm", "gg", "im", "io", "la", "ly", "me", "sh", "so", "to",
    "tv", "ws",
];

/// The country that a language without a region is mostly spoken in, on the web.
const LANGUAGES: [(&str, &str); 38] = [
    ("de", "DE"),
    ("fr", "FR"),
    ("it", "IT"),
    ("es", "ES"),
    ("nl", "NL"),
    ("pt", "PT"),
    ("pl", "PL"),
    ("sv", "SE"),
    ("da", "DK"),
    ("nb", "NO"),
    ("no", "NO"),
    ("nn", "NO"),
    ("fi", "FI"),
    ("cs", "CZ"),
    ("sk", "SK"),
    ("hu", "HU"),
    ("ro", "RO"),
    ("bg", "BG"),
    ("el", "GR"),
    ("tr", "TR"),
    ("ru", "RU"),
    ("uk", "UA"),
    ("he", "IL"),
    ("ja", "JP"),
    ("ko", "KR"),
    ("zh", "CN"),
    ("th", "TH"),
    ("vi", "VN"),
    ("id", "ID"),
    ("hr", "HR"),
    ("sl", "SI"),
    ("sr", "RS"),
    ("lt", "LT"),
    ("lv", "LV"),
    ("et", "EE"),
    ("is", "IS"),
    ("ga", "IE"),
    ("en", "US"),
];

/// Names of countries as addresses end with them.
const NAMES: [(&str, &str); 46] = [
    ("germany", "DE"),
    ("deutschland", "DE"),
    ("austria", "AT"),
    ("österreich", "AT"),
    ("switzerland", "CH"),
    ("schweiz", "CH"),
    ("suisse", "CH"),
    ("france", "FR"),
    ("italy", "IT"),
    ("italia", "IT"),
    ("spain", "ES"),
    ("españa", "ES"),
    ("portugal", "PT"),
    ("netherlands", "NL"),
    ("nederland", "NL"),
    ("belgium", "BE"),
    ("belgique", "BE"),
    ("belgië", "BE"),
    ("united kingdom", "GB"),
    ("england", "GB"),
    ("scotland", "GB"),
    ("ireland", "IE"),
    ("united states", "US"),
    ("usa", "US"),
    ("canada", "CA"),
    ("australia", "AU"),
    ("new zealand", "NZ"),
    ("india", "IN"),
    ("japan", "JP"),
    ("poland", "PL"),
    ("polska", "PL"),
    ("sweden", "SE"),
    ("sverige", "SE"),
    ("denmark", "DK"),
    ("danmark", "DK"),
    ("norway", "NO"),
    ("norge", "NO"),
    ("finland", "FI"),
    ("suomi", "FI"),
    ("brazil", "BR"),
    ("brasil", "BR"),
    ("mexico", "MX"),
    ("méxico", "MX"),
    ("singapore", "SG"),
    ("south africa", "ZA"),
    ("united arab emirates", "AE"),
];

/// The countries to try, surest first, without repeats.
pub(crate) fn homes(page: &Page<'_>, option: Option<&str>) -> Vec<Region> {
    let mut homes = Homes::default();
    homes.add(option);
    let host = Url::parse(page.document.url()).ok();
    let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
    let top = host.rsplit('.').next().unwrap_or_default();
    if top.len() == 2 && !SOUND.contains(&top) {
        homes.add(Some(if top == "uk" { "GB" } else { top }));
    }
    for object in page.objects() {
        let country = object.get("addressCountry");
        let name =
            country.and_then(|country| string(country).or_else(|| string(country.get("name")?)));
        homes.add(name.map(|name| code_of(name).unwrap_or(name)));
    }
    let language = page.document.html().and_then(|html| html.attr("lang"));
    let language = language.unwrap_or_default().to_ascii_lowercase();
    let (language, region) = language.split_once(['-', '_']).unwrap_or((&language, ""));
    let region = region.rsplit(['-', '_']).next().unwrap_or_default();
    homes.add(Some(region));
    for name in countries_named(page.text()) {
        homes.add(Some(name));
    }
    let spoken = LANGUAGES.iter().find(|(code, _)| *code == language);
    homes.add(spoken.map(|(_, country)| *country));
    homes.found
}

/// The code of a country's name.
pub(crate) fn code_of(name: &str) -> Option<&'static str> {
    let name = name.trim().to_lowercase();
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, code)| *code)
}

/// Countries whose names end a line of the text, or stand behind its last comma, as in addresses.
fn countries_named(text: &str) -> impl Iterator<Item = &'static str> {
    let ends = text
        .lines()
        .filter(|line| line.len() < 200)
        .filter_map(|line| {
            let end = line
                .rsplit([',', '\u{b7}', '-'])
                .next()?
                .trim()
                .trim_end_matches('.');
            (3..25).contains(&end.len()).then_some(end)
        });
    ends.filter_map(code_of)
}

#[derive(Default)]
struct Homes {
    found: Vec<Region>,
}

impl Homes {
    fn add(&mut self, code: Option<&str>) {
        let Some(code) = code.filter(|code| code.len() == 2) else {
            return;
        };
        let code = code.to_ascii_uppercase();
        let is_known = self.found.iter().any(|region| region.code() == code);
        if !is_known && self.found.len() < HOMES_MAX {
            self.found.extend(Region::of(&code));
        }
    }
}
