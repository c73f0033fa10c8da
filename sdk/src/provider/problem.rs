//! Problem details (RFC 9457), with which services explain failed requests.

use serde_json::Value;

use super::Reply;

/// The problem details of a reply; without any if its body is not a JSON object. A member that is
/// not text counts as absent.
#[derive(Clone, Debug)]
pub struct Problem(Value);

impl Problem {
    /// Reads the body of a reply.
    pub fn of_reply(reply: &Reply<'_>) -> Self {
        Self(reply.json().unwrap_or_default())
    }

    /// The type of the problem, as the service writes it: a URI reference.
    pub fn kind(&self) -> Option<&str> {
        self.text("type")
    }

    /// The service's error code: a member that the standard does not have, but several services.
    pub fn code(&self) -> Option<&str> {
        self.text("code")
    }

    /// The explanation of this failure, or else the title of all failures of its type.
    pub fn words(&self) -> Option<&str> {
        self.text("detail").or_else(|| self.text("title"))
    }

    fn text(&self, member: &str) -> Option<&str> {
        let text = self.0[member].as_str();
        text.filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_no_text_are_absent() {
        let check = |body: &str, expected: [Option<&str>; 3]| {
            let reply = Reply {
                body: body.as_bytes().into(),
                ..Reply::default()
            };
            let problem = Problem::of_reply(&reply);
            let found = [problem.kind(), problem.code(), problem.words()];
            assert_eq!(found, expected, "{body}");
        };
        check(
            r#"{"type":"/t","code":"C1","title":"Title","detail":"Detail"}"#,
            [Some("/t"), Some("C1"), Some("Detail")],
        );
        check(
            r#"{"type":"","code":17,"title":"Title","detail":null}"#,
            [None, None, Some("Title")],
        );
        for body in ["", "<html>", "[1]", "\"text\"", "17"] {
            check(body, [None; 3]);
        }
    }
}
