//! Fuzzing of the small objects that the admin and account endpoints read.

use super::*;

const KNOWN: [&str; 5] = ["name", "email", "dollars", "seats", "webhook"];
/// Characters of an error, which may quote the caller.
const ERROR_CHARS_MAX: usize = 600;

#[test]
fn admin() {
    trawl_fuzz::fuzz!("admin", |body| {
        let fields = match Fields::of(body, &KNOWN) {
            Ok(fields) => fields,
            Err(error) => return check_error(&error, ""),
        };
        for name in KNOWN {
            match fields.text(name) {
                Ok(Some(text)) => assert!(text.len() <= body.len()),
                Ok(None) => assert!(fields.value(name).is_none()),
                Err(error) => check_error(&error, name),
            }
            match fields.count(name) {
                Ok(count) => assert_eq!(count.is_none(), fields.value(name).is_none()),
                Err(error) => check_error(&error, name),
            }
            match fields.dollars(name) {
                Ok(None) => assert!(fields.value(name).is_none()),
                Ok(Some(amount)) => assert_eq!(amount.to_string().parse().ok(), Some(amount)),
                Err(error) => check_error(&error, name),
            }
        }
    });
}

/// An error is short and begins with what is wrong.
fn check_error(error: &ApiError, name: &str) {
    let ApiError::Invalid(text) = error else {
        panic!("{error:?} of a body");
    };
    assert!(
        text.chars().count() <= ERROR_CHARS_MAX,
        "{} characters",
        text.len()
    );
    assert!(!text.is_empty() && text.starts_with(name), "{text:?}");
}
