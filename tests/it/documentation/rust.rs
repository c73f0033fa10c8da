//! Rust of the guides: what is compiled elsewhere, and the parts of an adapter.

use super::blocks::{self, Block};

/// The page whose Rust is compiled and run as documentation tests of the SDK.
const DOCTESTED: &str = "sdk/README.md";

/// Checks that the block is among the documentation tests of the SDK.
pub(super) fn check_doctested(block: &Block) {
    assert!(
        block.place.starts_with(DOCTESTED),
        "{}: say why it is not compiled, or make it a part of an adapter",
        block.place
    );
    let library = blocks::read("sdk/src/lib.rs");
    assert!(library.contains("#[doc = include_str!(\"../README.md\")]"));
}

/// The skeleton of an adapter with the parts of a page in their places: its description, its first
/// request, its functions for jobs instead of its own, and their test instead of its own.
///
/// # Panics
/// When there is another part, or one is missing.
pub(super) fn adapter(skeleton: &str, parts: &[Block]) -> String {
    let starts = ["Description::new(", "let request", "fn start(", "#[test]"];
    for part in parts {
        let is_known = starts.iter().any(|start| part.text.starts_with(start));
        assert!(is_known, "{}: no place in an adapter", part.place);
    }
    let [description, request, functions, test] = starts.map(|start| {
        let mut parts = parts.iter().filter(|part| part.text.starts_with(start));
        let part = parts.next();
        assert!(part.is_some() && parts.next().is_none(), "one `{start}`");
        part.map_or("", |part| part.text.as_str())
    });
    let (functions, types) = functions
        .split_once("\n#[derive(")
        .expect("functions, then types");
    let at = |text: &str| skeleton.find(text).expect("a part of the skeleton");
    let own_functions = at("    fn start(task");
    let failures = at("/// The failure class of a reply");
    let own_tests = at("    #[test]\n");
    let head = skeleton[..own_functions].replace(
        "\nuse trawl_sdk::provider::{\n",
        "\nuse serde_json::json;\nuse trawl_sdk::provider::{\n",
    );
    let between = &skeleton[failures..own_tests];
    format!(
        "{head}{functions}}}\n\n#[derive({types}\n{between}\
         fn described() -> Description {{\n{description}}}\n\n\
         fn started(task: &Task) -> Result<Step, Failure> {{\n{request}}}\n\n\
         #[test]\nfn the_parts_are_used() {{\n\
         assert_eq!(described().credentials, [KEY]);\n\
         assert!(matches!(started(&task()), Ok(Step::Send(_))));\n}}\n\n\
         {test}}}\n"
    )
}
