//! The countries that the numbers of a page may belong to: from the caller's options, then from the
//! page, strongest evidence first.

use analyst_base::lists;
use trawl_embedded::string;
use url::Url;

use super::Region;
use crate::page::Page;

/// Maximum number of countries that are tried.
const HOMES_MAX: usize = 5;

/// Country-code top-level domains that are used generically.
const SOUND: &str = "ai am cc cd co dj fm gg im io la ly me sh so to tv ws";

/// The country in which most pages in a language are made, for pages whose language names no
/// region.
const LANGUAGES: &str = "bg=BG,zh=CN,cs=CZ,de=DE,da=DK,et=EE,es=ES,fi=FI,fr=FR,el=GR,hr=HR,hu=HU,\
    id=ID,ga=IE,he=IL,is=IS,it=IT,ja=JP,ko=KR,lt=LT,lv=LV,nl=NL,nb=NO,no=NO,nn=NO,pl=PL,pt=PT,\
    ro=RO,sr=RS,ru=RU,sv=SE,sl=SI,sk=SK,th=TH,tr=TR,uk=UA,en=US,vi=VN";

/// Country names at the end of postal addresses.
const NAMES: &str = "united arab emirates=AE,austria=AT,österreich=AT,australia=AU,belgium=BE,\
    belgique=BE,belgië=BE,brazil=BR,brasil=BR,canada=CA,switzerland=CH,schweiz=CH,suisse=CH,\
    germany=DE,deutschland=DE,denmark=DK,danmark=DK,spain=ES,españa=ES,finland=FI,suomi=FI,\
    france=FR,united kingdom=GB,england=GB,scotland=GB,wales=GB,ireland=IE,india=IN,italy=IT,\
    italia=IT,japan=JP,mexico=MX,méxico=MX,netherlands=NL,nederland=NL,norway=NO,norge=NO,\
    new zealand=NZ,poland=PL,polska=PL,portugal=PT,sweden=SE,sverige=SE,singapore=SG,\
    united states=US,usa=US,south africa=ZA,uae=AE,u.a.e=AE,qatar=QA,saudi arabia=SA,\
    ukraine=UA,україна=UA";

/// The countries to try, strongest evidence first, without duplicates.
pub(crate) fn homes(page: &Page<'_>, option: Option<&str>) -> Vec<Region> {
    let mut homes = Homes::default();
    homes.add(option);
    let host = Url::parse(page.document.url()).ok();
    let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
    let top = host.rsplit('.').next().unwrap_or_default();
    if top.len() == 2 && !lists(SOUND, top) {
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
    homes.add(country_of(LANGUAGES, language));
    homes.found
}

/// The country code of a country name.
pub(crate) fn code_of(name: &str) -> Option<&'static str> {
    let name = name.trim().to_lowercase();
    country_of(NAMES, &name)
}

/// The text in front of the first country name with a capital letter; all of it without one.
pub(crate) fn before_name(text: &str) -> &str {
    let mut capitals = text
        .char_indices()
        .filter(|(_, letter)| letter.is_uppercase());
    let name = capitals.find(|&(at, _)| begins_with_name(&text[at..]));
    name.map_or(text, |(at, _)| &text[..at])
}

fn begins_with_name(text: &str) -> bool {
    rows(NAMES).any(|(name, _)| {
        let mut letters = text.chars().flat_map(char::to_lowercase);
        name.chars().all(|letter| letters.next() == Some(letter))
            && !letters.next().is_some_and(char::is_alphanumeric)
    })
}

fn country_of(table: &'static str, key: &str) -> Option<&'static str> {
    let mut own = rows(table).filter(|(own, _)| *own == key);
    own.next().map(|(_, country)| country)
}

fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    table.split(',').filter_map(|row| row.split_once('='))
}

/// Countries named at the end of a line or after its last comma, as in postal addresses.
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

#[cfg(test)]
mod tests {
    use super::{before_name, code_of};

    #[test]
    fn country_names_end_addresses() {
        let check = |text: &str, expected: &str| assert_eq!(before_name(text), expected, "{text}");
        check("Dubai, U.A.E.", "Dubai, ");
        check("Abu Dhabi UNITED ARAB EMIRATES", "Abu Dhabi ");
        check("DohaQatar", "Doha");
        check("Wien, Österreich, Austria", "Wien, ");
        check("Київ, Україна", "Київ, ");
        check("Indiana, Usability, uae", "Indiana, Usability, uae");
        check("", "");
        assert_eq!(code_of(" U.A.E"), Some("AE"));
    }
}
