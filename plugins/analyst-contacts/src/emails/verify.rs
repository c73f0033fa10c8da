//! What is an address and what only looks like one: names of images, versions of packages, samples in forms.

use crate::people::fold::plain_word;
use crate::phones::Region;

/// How sure it is that the page means an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// A link or structured data says so.
    Declared,
    /// It stands in a text or comes out of a script.
    Shown,
}

/// Bounds of RFC 5321, 4.5.3.1.
const LOCAL_BYTES_MAX: usize = 64;
const ADDRESS_BYTES_MAX: usize = 254;
const LABEL_BYTES_MAX: usize = 63;
/// Hexadecimal digits from which a local part is a key of some service and nobody's name.
const KEY_DIGITS_MIN: usize = 20;

/// Ends of file names that follow an `@` in names of images and packages.
const FILES: [&str; 26] = [
    "png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "bmp", "tif", "tiff", "css", "scss",
    "js", "mjs", "ts", "tsx", "jsx", "json", "html", "xml", "woff", "woff2", "ttf", "mp4", "webm",
];

/// Domains that nothing can be sent to.
const NOWHERE: [&str; 5] = ["local", "internal", "lan", "localdomain", "invalid"];

/// Top-level domains of two letters that are no region of the table of numbering plans.
const TWO_LETTERS: [&str; 14] = [
    "uk", "eu", "su", "aq", "bv", "gs", "hm", "pn", "tf", "um", "cs", "yu", "an", "sj",
];

/// Longer top-level domains that addresses are seen with. Others count where the page itself says that it is an address.
const LONG: &str = " com org net info biz edu gov mil int name pro aero coop museum jobs mobi travel tel cat asia post xxx arpa test example \
 app dev page web site website online store shop blog cloud tech digital agency studio design media art gallery photo photos photography \
 email contact support help services service solutions systems company business enterprises group team works work consulting consultancy \
 partners ventures capital finance financial fund money bank insurance legal law lawyer attorney tax accountant accountants engineering \
 engineer construction builders architect homes house haus immo immobilien realestate properties property estate rentals apartments hotel hotels \
 restaurant cafe bar pub pizza kitchen catering wine beer coffee bio organic farm garden flowers fashion clothing shoes jewelry beauty hair \
 salon spa fitness yoga health healthcare care clinic dental dentist doctor hospital surgery pharmacy vet academy education school university \
 college training courses institute foundation charity ngo community church social news press magazine radio film movie theater show music band \
 events party wedding club sport football golf tennis bike cars auto car taxi limo flights holiday holidays vacations voyage tours \
 berlin hamburg koeln cologne bayern saarland ruhr nrw wien tirol swiss zuerich paris bzh alsace corsica brussels vlaanderen gent amsterdam frl \
 london scot wales cymru irish madrid barcelona eus gal istanbul moscow tatar nyc miami boston vegas quebec melbourne sydney tokyo osaka kyoto \
 nagoya okinawa taipei capetown joburg durban africa lat moe ist one xyz top vip icu live life love world earth global international zone space \
 network host hosting domains software technology computer science energy solar green eco supply supplies tools parts equipment industries \
 trade market markets sale deals discount cheap gift gifts toys games game play fun wtf ninja guru expert center directory guide wiki info \
 reviews review report city town place land today now plus best cool pink red blue black gold luxury gmbh ltd llc inc srl kiwi ink foo ";

/// Local parts and domains that stand for anybody's.
const SAMPLE_LOCALS: [&str; 24] = [
    "you",
    "your",
    "yourname",
    "your.name",
    "your-name",
    "youremail",
    "your.email",
    "name",
    "user",
    "username",
    "someone",
    "somebody",
    "example",
    "email",
    "mail",
    "me",
    "xxx",
    "abc",
    "firstname.lastname",
    "first.last",
    "vorname.nachname",
    "max.mustermann",
    "john.doe",
    "jane.doe",
];
const SAMPLE_DOMAINS: [&str; 20] = [
    "example.com",
    "example.org",
    "example.net",
    "example.de",
    "domain.com",
    "domain.tld",
    "yourdomain.com",
    "your-domain.com",
    "yourdomain.tld",
    "yourcompany.com",
    "company.com",
    "website.com",
    "yoursite.com",
    "site.com",
    "email.com",
    "mail.com",
    "mysite.com",
    "domaine.fr",
    "dominio.com",
    "ihredomain.de",
];
/// Domains that are only ever samples.
const SAMPLE_DOMAINS_ALWAYS: [&str; 9] = [
    "yourdomain.com",
    "your-domain.com",
    "yourdomain.tld",
    "domain.tld",
    "yourcompany.com",
    "yoursite.com",
    "domain.com",
    "sentry.io",
    "ihredomain.de",
];
/// What stands before a sample.
const SAMPLE_WORDS: [&str; 11] = [
    "e.g.",
    "e.g.,",
    "z.b.",
    "z. b.",
    "p.ex.",
    "ex.:",
    "example:",
    "for example",
    "for instance",
    "such as",
    "beispiel:",
];

/// The address in one form (domain in lower case), or `None` when it is none.
pub(crate) fn address(text: &str, trust: Trust) -> Option<String> {
    let text = text.trim().trim_matches(['<', '>', '"', '\u{200b}']);
    let (local, domain) = text.rsplit_once('@')?;
    let (local, domain) = without_trap(local, domain);
    let domain = domain.trim_end_matches(['.', '-', '_']).to_lowercase();
    let is_address = local.len() + domain.len() < ADDRESS_BYTES_MAX
        && is_local(&local, trust)
        && is_domain(&domain, trust);
    (is_address && !is_sample_address(&local, &domain, trust)).then(|| format!("{local}@{domain}"))
}

/// Cuts out what people are to cut out: `info@NOSPAM.acme.de`.
fn without_trap(local: &str, domain: &str) -> (String, String) {
    let mut parts = (local.to_owned(), domain.to_owned());
    for trap in ["NOSPAM", "NO-SPAM", "REMOVETHIS", "REMOVE-THIS", "REMOVE"] {
        for part in [&mut parts.0, &mut parts.1] {
            if let Some(at) = part.find(trap) {
                part.replace_range(at..at + trap.len(), "");
                *part = part.trim_matches(['.', '-', '_', '+']).replace("..", ".");
            }
        }
    }
    parts
}

fn is_local(local: &str, trust: Trust) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+/=?^_`{|}~-.".contains(c);
    let is_plain = |c: char| c.is_alphanumeric() || "._%+'&-".contains(c);
    let is_good = match trust {
        Trust::Declared => local.chars().all(|c| is_allowed(c) || c.is_alphanumeric()),
        Trust::Shown => local.chars().all(is_plain) && !local.contains('%'),
    };
    let is_key = local.len() >= KEY_DIGITS_MIN
        && local.bytes().all(|byte| byte.is_ascii_hexdigit())
        && local.bytes().any(|byte| byte.is_ascii_digit());
    is_good
        && (1..=LOCAL_BYTES_MAX).contains(&local.len())
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && !is_key
        && local.chars().any(char::is_alphanumeric)
}

fn is_domain(domain: &str, trust: Trust) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let Some((rest, top)) = domain.rsplit_once('.') else {
        return false;
    };
    domain.split('.').all(is_label) && rest.chars().any(char::is_alphanumeric) && is_top(top, trust)
}

/// Whether a top-level domain is one.
pub(super) fn is_top(top: &str, trust: Trust) -> bool {
    if FILES.contains(&top) || NOWHERE.contains(&top) {
        return false;
    }
    if top.starts_with("xn--") {
        return true;
    }
    if !top.chars().all(char::is_alphabetic) {
        return false;
    }
    match top.len() {
        0 | 1 => false,
        2 => TWO_LETTERS.contains(&top) || Region::of(&top.to_ascii_uppercase()).is_some(),
        _ if !top.is_ascii() => true,
        _ => trust == Trust::Declared || LONG.split_ascii_whitespace().any(|long| long == top),
    }
}

/// What parts of names are called where a page says how its addresses are made, in lower case without accents.
const PARTS: &str = " first last firstname lastname surname forename givenname familyname middlename initial name fullname yourname \
 vorname nachname familienname zuname name prenom nom nomdefamille nombre apellido apellidos primerapellido nome cognome sobrenome apelido \
 ultimonome voornaam achternaam familienaam fornavn etternavn efternavn mellomnavn fornamn efternamn etunimi sukunimi eesnimi perenimi \
 perekonnanimi imie nazwisko jmeno prijmeni meno priezvisko keresztnev vezeteknev csaladnev utonev prenume nume numele ad soyad soyadi adi \
 isim soyisim ime priimek prezime vards uzvards vardas pavarde imya familiya имя фамилия имя прізвище презиме име фамилно onoma eponymo ονομα \
 επωνυμο tennimi nama namadepan namabelakang ten ho firstinitial username ";
/// Such parts written as one word.
const PATTERNS: [&str; 6] = [
    "firstnamelastname",
    "firstlast",
    "vornamenachname",
    "prenomnom",
    "nombreapellido",
    "nomecognome",
];

/// Whether a local part says how local parts are made: `firstname.lastname`, `v.nachname`.
pub(super) fn is_pattern(local: &str) -> bool {
    let mut n_parts = 0;
    let mut n_called = 0;
    for part in local.split(['.', '-', '_']) {
        let part = plain_word(part);
        let is_called = part.len() > 1 && PARTS.split_ascii_whitespace().any(|known| known == part);
        if !is_called && part.chars().count() != 1 {
            return n_parts == 0 && PATTERNS.contains(&part.as_str());
        }
        n_parts += 1;
        n_called += usize::from(is_called);
    }
    n_parts > 1 && n_called > 0
}

fn is_sample_address(local: &str, domain: &str, trust: Trust) -> bool {
    if domain.ends_with(".ingest.sentry.io") || SAMPLE_DOMAINS_ALWAYS.contains(&domain) {
        return true;
    }
    let local = local.to_lowercase();
    trust == Trust::Shown
        && SAMPLE_LOCALS.contains(&local.as_str())
        && SAMPLE_DOMAINS.contains(&domain)
}

/// Whether the words in front of an address say that it only shows what one looks like.
pub(super) fn is_sample(address: &str, before: &str) -> bool {
    let domain = address.rsplit('@').next().unwrap_or_default();
    if !SAMPLE_DOMAINS.contains(&domain) && !domain.ends_with(".example") {
        return false;
    }
    let start = before.ceil_char_boundary(before.len().saturating_sub(20));
    let near = before[start..].to_lowercase();
    let near = near.trim_end_matches([' ', '"', '\'', '(', '„', '“', '<']);
    SAMPLE_WORDS.iter().any(|word| near.ends_with(word))
}
