//! Fuzzing of the link scan: of any source, and of well-formed pages made of the input, where the
//! tree is the reference.

use std::fmt::Write as _;

use trawl_fuzz::Recipe;

use super::tests::{BASES, from_tree, page_url, resolved};
use super::*;

/// Elements of a made-up page.
const ELEMENTS_MAX: usize = 12;
/// Bytes of one attribute's value.
const VALUE_BYTES_MAX: usize = 40;

/// Any source: links are such that they can be fetched, each once, and no more than tags.
#[test]
fn links() {
    trawl_fuzz::fuzz!("links", |body| {
        let text = String::from_utf8_lossy(body);
        let url = page_url();
        let found = scan(&Page::html(&text, &url));
        let links: Vec<(&str, bool)> = found.iter().collect();
        assert!(links.len() + found.n_dropped as usize <= text.matches('<').count());
        let mut seen = std::collections::HashSet::new();
        for (link, _) in links {
            assert!(seen.insert(link), "{link} twice");
            let parsed = Url::parse(link).expect("links are absolute");
            assert_eq!(parsed.as_str(), link, "in the form of the `url` crate");
            assert!(matches!(parsed.scheme(), "http" | "https"));
            assert!(parsed.fragment().is_none() && parsed.username().is_empty());
            assert!(parsed.password().is_none());
        }
    });
}

/// A page of whole elements with any values has the links of its tree.
#[test]
fn page() {
    trawl_fuzz::fuzz!("page", |input| {
        let html = well_formed(&mut Recipe::new(input));
        let found = scan(&Page::html(&html, &page_url()));
        let found: Vec<(String, bool)> = found
            .iter()
            .map(|(link, nofollow)| (link.to_owned(), nofollow))
            .collect();
        assert_eq!(found, from_tree(&html, &page_url()), "{html}");
    });
}

/// A reference is resolved without the `url` crate as with it.
#[test]
fn reference() {
    trawl_fuzz::fuzz!("reference", |href| {
        let href = String::from_utf8_lossy(href);
        for base in BASES {
            let base = Url::parse(base).expect("a URL");
            let mut links = Links::new(Joiner::new(base.clone(), &base));
            links.take(&href, false);
            let found = links.into_discovered();
            let found = found.iter().next().map(|link| link.0);
            assert_eq!(
                found,
                resolved(&base, &base, &href).as_deref(),
                "{base} {href:?}"
            );
        }
    });
}

/// The first byte of each element chooses it; its values are the bytes after it.
fn well_formed(recipe: &mut Recipe<'_>) -> String {
    let mut html = String::new();
    for _ in 0..ELEMENTS_MAX {
        if recipe.is_over() {
            break;
        }
        let kind = recipe.below(16);
        let (one, other) = (value(recipe), value(recipe));
        let _ = match kind {
            0 | 1 => write!(html, "<a href=\"{one}\" rel=\"{other}\">x</a>"),
            2 => write!(html, "<A HREF='{one}'>x</A>"),
            3 => write!(
                html,
                "<map><area rel=nofollow href=\"{one}\" alt='{other}'></map>"
            ),
            4 => write!(html, "<iframe src='{one}'></iframe>"),
            5 => write!(html, "<link rel=next href=\"{one}\" type=\"{other}\">"),
            6 => write!(html, "<link rel='{one}' href='{other}'>"),
            7 => write!(html, "<meta http-equiv=refresh content=\"{one}\">"),
            8 => write!(html, "<meta name=robots content='{one}'>"),
            9 => write!(html, "<base href='{one}'>"),
            10 => write!(html, "<!-- {other} --><p title='{one}'>{other}</p>"),
            11 => write!(html, "<script>{other}</script>"),
            12 => write!(html, "<template><a href='{one}'></a></template>"),
            13 => write!(
                html,
                "<svg><a xlink:href='{one}'></a><title><b>x</b></title></svg>"
            ),
            14 => write!(
                html,
                "<x-a><template shadowrootmode=open><a href='{one}'></a></template></x-a>"
            ),
            _ => write!(html, "<svg><path d='{one}'/></svg>{other}"),
        };
    }
    html
}

/// Text that ends neither an attribute nor a comment nor a script, and begins no tag.
fn value(recipe: &mut Recipe<'_>) -> String {
    let text = String::from_utf8_lossy(recipe.bytes(VALUE_BYTES_MAX));
    let text = text.replace(['"', '\'', '<', '>', '\0', '\r'], "/");
    text.replace("--", "-/")
}
