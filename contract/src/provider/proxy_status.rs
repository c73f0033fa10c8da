//! The `Proxy-Status` header (RFC 9209): what the proxies between the target and us report.

use super::Reply;

/// What one proxy reports in `Proxy-Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyStatus {
    /// Name of the proxy; empty if the header leaves it out.
    pub proxy: String,
    /// Type of the error if the proxy produced the response itself: `dns_error`.
    pub error: Option<String>,
    /// Description of the error, or other details.
    pub details: Option<String>,
    /// Status that the proxy received from the next hop.
    pub received_status: Option<u16>,
}

impl Reply<'_> {
    /// The members of all `Proxy-Status` headers, the proxy closest to the target first. The target
    /// may have proxies of its own: check [`ProxyStatus::proxy`].
    pub fn proxy_status(&self) -> Vec<ProxyStatus> {
        let lines = self.headers.iter();
        let lines = lines.filter(|(name, _)| name.eq_ignore_ascii_case("proxy-status"));
        lines
            .flat_map(|(_, line)| ProxyStatus::list(line))
            .collect()
    }
}

impl ProxyStatus {
    /// The members of one header value. What is malformed is left out.
    pub fn list(line: &str) -> Vec<Self> {
        let members = split(line, ',').into_iter().map(Self::member);
        members
            .filter(|member| *member != Self::default())
            .collect()
    }

    fn member(text: &str) -> Self {
        let mut member = Self::default();
        for (index, part) in split(text, ';').into_iter().enumerate() {
            let Some((name, value)) = part.split_once('=').filter(|(name, _)| is_key(name)) else {
                if index == 0 {
                    member.proxy = unquoted(part);
                }
                continue;
            };
            let value = unquoted(value);
            match name.trim() {
                "error" => member.error = Some(value),
                "details" => member.details = Some(value),
                "received-status" => member.received_status = value.parse().ok(),
                _ => {}
            }
        }
        member
    }
}

/// Whether this is the name of a parameter: not the start of a quoted string.
fn is_key(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.*".contains(&byte);
    !name.trim().is_empty() && name.trim().bytes().all(is_letter)
}

/// Splits at a separator outside quoted strings.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if letter == separator && !is_quoted => {
                parts.push(&text[start..at]);
                start = at + letter.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A string without its quotes and escapes; a token as it is.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('"') else {
        return text.to_owned();
    };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut letters = inner.chars();
    let mut plain = String::with_capacity(inner.len());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next()),
            _ => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_parameters_are_read() {
        let line = r#"edge.example; received-status=200, "my proxy"; error=dns_error; details="a;b, \"c\"", x"#;
        let members = ProxyStatus::list(line);
        let expected = [
            ProxyStatus {
                proxy: "edge.example".to_owned(),
                received_status: Some(200),
                ..ProxyStatus::default()
            },
            ProxyStatus {
                proxy: "my proxy".to_owned(),
                error: Some("dns_error".to_owned()),
                details: Some("a;b, \"c\"".to_owned()),
                received_status: None,
            },
            ProxyStatus {
                proxy: "x".to_owned(),
                ..ProxyStatus::default()
            },
        ];
        assert_eq!(members, expected);
    }

    #[test]
    fn malformed_values_are_survived() {
        for line in ["", " , ;", "\"", "\"a\\", "a;error", "a;received-status=x"] {
            let members = ProxyStatus::list(line);
            assert!(members.iter().all(|one| one.error.is_none()), "{line}");
        }
        let unnamed = ProxyStatus::list("error=\"dns_error\"; details=é");
        assert_eq!(unnamed[0].proxy, "");
        assert_eq!(unnamed[0].error.as_deref(), Some("dns_error"));
        assert_eq!(unnamed[0].details.as_deref(), Some("é"));
    }
}
