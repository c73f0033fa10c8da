//! Content lines and the components that they make. Source: RFC 5545, 3.1 to 3.3.11; RFC 6350, 3;
//! vCard 2.1 for quoted-printable values.

use trawl_sdk::decoder::Failure;

/// Most levels of components.
const DEPTH_MAX: usize = 16;
/// Most content lines.
const LINES_MAX: usize = 1_000_000;
/// What the head of a line with a quoted-printable value has.
const QUOTED_PRINTABLE: &[u8] = b"QUOTED-PRINTABLE";

/// A component: what is between `BEGIN` and `END`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Component {
    /// Its name, upper case: `VEVENT`.
    pub(crate) name: String,
    pub(crate) properties: Vec<Property>,
    pub(crate) children: Vec<Component>,
}

/// A content line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Property {
    /// Its name, upper case, without the group of vCard: `TEL`.
    pub(crate) name: String,
    /// Parameters; names are upper case, and values as written, quotes removed.
    pub(crate) parameters: Vec<(String, String)>,
    /// Its value as written, quoted-printable decoded.
    pub(crate) value: String,
}

impl Component {
    /// The properties of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Property> {
        self.properties.iter().filter(move |it| it.name == name)
    }

    /// The text of the first property of this name that has some.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.all(name).map(Property::text).find(|it| !it.is_empty())
    }
}

impl Property {
    /// The value as text, escapes resolved, trimmed.
    pub(crate) fn text(&self) -> String {
        let parts = self.parts(&[]);
        parts.into_iter().next().unwrap_or_default()
    }

    /// The value in its parts, divided at unescaped characters: `;` or `,`.
    pub(crate) fn parts(&self, dividers: &[char]) -> Vec<String> {
        let mut parts = vec![String::new()];
        let mut characters = self.value.chars();
        while let Some(character) = characters.next() {
            let last = parts.last_mut().expect("there is always one");
            match character {
                '\\' => match characters.next() {
                    Some('n' | 'N') => last.push('\n'),
                    Some(escaped) => last.push(escaped),
                    None => last.push('\\'),
                },
                divider if dividers.contains(&divider) => parts.push(String::new()),
                other => last.push(other),
            }
        }
        parts.iter().map(|part| part.trim().to_owned()).collect()
    }

    /// A parameter by its name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        parameters.find_map(|(own, value)| (own == name).then_some(value.as_str()))
    }
}

/// The outermost components, and what is wrong with the file. Lines outside of them are ignored.
pub(crate) fn read(text: &str) -> Result<(Vec<Component>, Option<String>), Failure> {
    let (mut roots, mut open) = (Vec::new(), Vec::<Component>::new());
    let mut fault = None;
    for (number, line) in unfolded(text).into_iter().enumerate() {
        if number == LINES_MAX {
            fault = Some(format!("lines after the first {LINES_MAX} are left out"));
            break;
        }
        let Some(property) = property(&line) else {
            continue;
        };
        match property.name.as_str() {
            "BEGIN" if open.len() == DEPTH_MAX => {
                let reason = format!("components are more than {DEPTH_MAX} levels deep");
                return Err(Failure::Limit(reason));
            }
            "BEGIN" => open.push(Component {
                name: property.value.trim().to_ascii_uppercase(),
                ..Component::default()
            }),
            "END" => {
                if let Some(done) = open.pop() {
                    add(done, &mut open, &mut roots);
                }
            }
            _ => {
                if let Some(component) = open.last_mut() {
                    component.properties.push(property);
                }
            }
        }
    }
    if !open.is_empty() && fault.is_none() {
        fault = Some("the file is cut off".to_owned());
    }
    while let Some(done) = open.pop() {
        add(done, &mut open, &mut roots);
    }
    Ok((roots, fault))
}

/// Adds a component to the one around it, or to the outermost ones if it is of a known kind.
fn add(done: Component, open: &mut [Component], roots: &mut Vec<Component>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(done),
        None if matches!(done.name.as_str(), "VCALENDAR" | "VCARD") => roots.push(done),
        None => {}
    }
}

/// The lines, joined where one begins with a blank or where a quoted-printable one ends with `=`.
fn unfolded(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut is_soft, mut head) = (false, Head::default());
    for line in text.lines() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let more = match is_soft {
            true => Some(line),
            false => line.strip_prefix([' ', '\t']),
        };
        if let (Some(more), Some(last)) = (more, lines.last_mut()) {
            last.push_str(more);
        } else if lines.len() > LINES_MAX {
            break;
        } else {
            lines.push(line.to_owned());
            head = Head::default();
        }
        let last = lines.last_mut().expect("one was pushed");
        is_soft = last.ends_with('=') && head.is_quoted_printable(last);
        if is_soft {
            last.pop();
        }
    }
    lines
}

/// What has been read of the head of a line, which is all before its first colon. The line may have
/// become longer each time it is asked about, and nothing of it is read again.
#[derive(Debug, Default)]
struct Head {
    n_read: usize,
    is_over: bool,
    is_quoted_printable: bool,
}

impl Head {
    /// Whether the value of the line is quoted-printable.
    fn is_quoted_printable(&mut self, line: &str) -> bool {
        if !self.is_over {
            let begin = self.n_read.saturating_sub(QUOTED_PRINTABLE.len());
            let new = line.as_bytes().get(begin..).unwrap_or_default();
            let colon = new.iter().position(|byte| *byte == b':');
            let mut words = new[..colon.unwrap_or(new.len())].windows(QUOTED_PRINTABLE.len());
            self.is_quoted_printable =
                words.any(|word| word.eq_ignore_ascii_case(QUOTED_PRINTABLE));
            self.is_over = colon.is_some() || self.is_quoted_printable;
            self.n_read = line.len();
        }
        self.is_quoted_printable
    }
}

/// A content line; `None` if it has no value.
fn property(line: &str) -> Option<Property> {
    let mut is_quoted = false;
    let colon = line.find(|character: char| {
        is_quoted ^= character == '"';
        character == ':' && !is_quoted
    })?;
    let (head, value) = (&line[..colon], &line[colon + 1..]);
    let mut is_quoted = false;
    let mut parts = head.split(|character: char| {
        is_quoted ^= character == '"';
        character == ';' && !is_quoted
    });
    let name = parts.next().unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or_default();
    let parameters = parts.map(|part| {
        let (name, value) = part.split_once('=').unwrap_or(("TYPE", part));
        let value = value.trim().trim_matches('"');
        (name.trim().to_ascii_uppercase(), value.to_owned())
    });
    let mut property = Property {
        name: name.trim().to_ascii_uppercase(),
        parameters: parameters.collect(),
        value: value.to_owned(),
    };
    if Head::default().is_quoted_printable(head) {
        property.value = plain(value);
    }
    Some(property)
}

/// A quoted-printable value as text (RFC 2045, 6.7). Its characters are taken for UTF-8.
fn plain(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.first_chunk::<2>().filter(|_| *first == b'=');
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => &after[2..],
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
