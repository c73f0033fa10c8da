//! The text of elements: what their reader sees. The judge is `innerText` of Chromium.

use crate::chromium::{Asked, Chromium, PAGES, in_parts};
use crate::pages::Page;
use crate::parsed::Parsed;
use crate::trial::{Exception, Trial};

const EXCEPTIONS: [Exception; 0] = [];

/// Elements whose texts fit into the result of one script.
const AT_ONCE: usize = 2;
/// White space folded as ASCII has it: `trim` of a browser would take no-break spaces, too.
const ASK: &str = r"JSON.stringify([...document.body.querySelectorAll('*')].slice(__FROM__, __TO__).map(it =>
  it.innerText.replace(/[ \t\n\r\f]+/g, ' ').replace(/^ | $/g, '')))";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_shows_the_same_texts() {
    let chromium = Chromium::start().await;
    let mut trial = Trial::of("text: Chromium", &EXCEPTIONS);
    while let Some((mut draw, _turn)) = chromium.round(&mut trial).await {
        let pages: Vec<Page> = (0..PAGES).map(|_| Page::draw(&mut draw)).collect();
        let asked = pages.iter().enumerate().map(|(number, page)| Asked {
            url: chromium.site.page(&format!("/{number}"), &page.html()),
            scripts: in_parts(ASK, page.elements().len(), AT_ONCE),
        });
        let answers = chromium.ask(asked.collect()).await;
        for (page, theirs) in pages.iter().zip(answers) {
            let html = page.html();
            let parsed = Parsed::of(&html);
            let document = parsed.document();
            let elements = document.select("body *").expect("a selector");
            let theirs = theirs.iter().flat_map(|some| some.as_array().unwrap());
            let mut n_elements = 0;
            for (element, theirs) in elements.zip(theirs) {
                let id = element.id().unwrap_or_default();
                let ours = element.node().line_text();
                trial.compare(&format!("#{id} on {html}"), theirs.as_str().unwrap(), &ours);
                n_elements += 1;
            }
            // Not those in the head, and not the body itself.
            assert_eq!(n_elements + 3, page.elements().len(), "{html}");
        }
    }
    chromium.close(trial).await;
}
