//! The `prune` filter: keeps or removes parts of a page before any output is produced.

use trawl_sdk::{Document, Element, Failure, Filter, Info, Mask, Node, Selector, Tag};

/// Keeps what `root_selector` matches, and removes what `exclude_selector` and the switches select.
pub struct Prune;

/// Options of [`Prune`]. They combine: what any of them removes stays removed.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// CSS selector of the only elements to keep. Without a match, nothing is kept.
    root_selector: Option<String>,
    /// CSS selector of elements to remove.
    exclude_selector: Option<String>,
    /// Remove images.
    images: bool,
    /// Remove SVG images.
    svg: bool,
    /// Keep only the main content: the element marked as main, or else everything but navigation,
    /// header, footer and asides.
    main_only: bool,
}

trawl_sdk::export!(filter: Prune);

impl Filter for Prune {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "prune",
            env!("CARGO_PKG_VERSION"),
            "Keeps or removes parts of a page by selector; removes images, SVG, or everything but the main content",
        )
        .options_schema(
            r#"{
                "type": "object",
                "properties": {
                    "root_selector": {"type": ["string", "null"], "description": "CSS selector of the only elements to keep"},
                    "exclude_selector": {"type": ["string", "null"], "description": "CSS selector of elements to remove"},
                    "images": {"type": "boolean", "default": false, "description": "Remove images"},
                    "svg": {"type": "boolean", "default": false, "description": "Remove SVG images"},
                    "main_only": {"type": "boolean", "default": false, "description": "Keep only the main content of the page"}
                },
                "additionalProperties": false
            }"#,
        )
    }

    fn keep(document: &Document, options: Options) -> Result<Mask, Failure> {
        let root = selector("root_selector", options.root_selector.as_deref())?;
        let exclude = selector("exclude_selector", options.exclude_selector.as_deref())?;
        let mut mask = Mask::of(document);
        if let Some(root) = root {
            mask.keep_only(document.select_with(&root).map(Node::from));
        }
        if options.main_only {
            keep_main(document, &mut mask);
        }
        if let Some(exclude) = exclude {
            drop_all(&mut mask, document.select_with(&exclude));
        }
        if options.images {
            drop_all(&mut mask, document.elements().filter(|&e| is_image(e)));
        }
        if options.svg {
            drop_all(&mut mask, document.select("svg")?);
        }
        Ok(mask)
    }
}

/// Parses a caller's selector; an empty one counts as absent.
fn selector(option: &str, css: Option<&str>) -> Result<Option<Selector>, Failure> {
    let css = css.filter(|css| !css.trim_ascii().is_empty());
    css.map(Selector::parse)
        .transpose()
        .map_err(|error| Failure::invalid_option(option, error))
}

fn drop_all<'a>(mask: &mut Mask, elements: impl Iterator<Item = Element<'a>>) {
    for element in elements {
        mask.drop_tree(element.node());
    }
}

fn is_image(element: Element<'_>) -> bool {
    let is_button = || {
        element
            .attr("type")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("image"))
    };
    match element.tag() {
        Tag::Img | Tag::Picture => true,
        Tag::Input => is_button(),
        _ => false,
    }
}

fn keep_main(document: &Document, mask: &mut Mask) {
    let mut main = document.elements().filter(|&e| is_main(e)).peekable();
    if main.peek().is_some() {
        mask.keep_only(main.map(Node::from));
    } else {
        drop_all(mask, document.elements().filter(|&e| is_around_main(e)));
    }
}

fn has_role(element: Element<'_>, roles: &[&str]) -> bool {
    let role = element.attr("role").map(str::trim_ascii);
    role.is_some_and(|role| roles.iter().any(|known| role.eq_ignore_ascii_case(known)))
}

fn is_main(element: Element<'_>) -> bool {
    element.tag() == Tag::Main || has_role(element, &["main"])
}

/// Navigation, asides, and the header and footer of the page (but not those of an article).
fn is_around_main(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Nav | Tag::Aside | Tag::Search => true,
        Tag::Header | Tag::Footer => !element
            .ancestors()
            .any(|outer| matches!(outer.tag(), Tag::Article | Tag::Section)),
        _ => has_role(
            element,
            &[
                "banner",
                "complementary",
                "contentinfo",
                "navigation",
                "search",
            ],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::Prune;
    use serde_json::{Value, json};
    use trawl_sdk::testkit;

    #[track_caller]
    fn check(html: &str, options: Value, expected: &str) {
        let page = testkit::page(html);
        let mask = page.keep::<Prune>(options.clone()).expect("a mask");
        assert_eq!(
            page.masked(mask).document().root().text(),
            expected,
            "{options}"
        );
    }

    #[test]
    fn only_elements_that_match_the_root_selector_are_kept() {
        let html = "<p>a</p><div><p class=x>b<b>c</b></p>d</div>";
        check(html, json!({"root_selector": "p"}), "abc");
        check(html, json!({"root_selector": ".x"}), "bc");
        check(html, json!({"root_selector": "h1"}), "");
        check(html, json!({"root_selector": " "}), "abcd");
        check(html, json!({"root_selector": null}), "abcd");
    }

    #[test]
    fn elements_that_match_the_exclude_selector_are_removed() {
        let html = "<p>a<b>b</b></p><p>c</p>";
        check(html, json!({"exclude_selector": "b, p:last-child"}), "a");
        check(
            html,
            json!({"root_selector": "p", "exclude_selector": "b"}),
            "ac",
        );
    }

    #[test]
    fn images_and_svg_are_removed_on_request() {
        let html = "<p>a<img src=x alt=i><picture><source>b</picture></p><svg><text>c</text></svg>";
        check(html, json!({}), "abc");
        check(html, json!({"images": true}), "ac");
        check(html, json!({"svg": true}), "ab");
    }

    #[test]
    fn the_main_content_is_the_element_marked_as_main() {
        check(
            "<nav>n</nav><main>m</main>x",
            json!({"main_only": true}),
            "m",
        );
        check(
            "<div role=main>m</div><p>x",
            json!({"main_only": true}),
            "m",
        );
    }

    #[test]
    fn without_a_main_element_the_surroundings_are_removed() {
        let html = "<header>h</header><div role=navigation>n</div><article><header>t</header>b</article><aside>s</aside><footer>f</footer>";
        check(html, json!({"main_only": true}), "tb");
    }

    #[test]
    fn a_selector_that_does_not_parse_names_its_option() {
        let failure = testkit::page("").keep::<Prune>(json!({"exclude_selector": "a >"}));
        assert_eq!(
            failure.expect_err("a wrong selector").to_string(),
            "invalid options: `exclude_selector`: a combinator has nothing after it"
        );
    }
}
