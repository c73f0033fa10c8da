//! The elements of HTML as an enum.

macro_rules! tags {
    ($($variant:ident $name:literal)*) => {
        /// A well-known HTML element, to `match` on: `match element.tag() { Tag::Div => … }`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Tag {
            $(#[doc = concat!("`<", $name, ">`")] $variant,)*
            /// Any other element: custom elements, SVG, MathML.
            Other,
        }

        /// All names with their tags, sorted by name.
        const TAGS: &[(&str, Tag)] = &[$(($name, Tag::$variant)),*];
    };
}

// Sorted by name for binary search.
tags! {
    A "a"
    Abbr "abbr"
    Acronym "acronym"
    Address "address"
    Applet "applet"
    Area "area"
    Article "article"
    Aside "aside"
    Audio "audio"
    B "b"
    Base "base"
    Basefont "basefont"
    Bdi "bdi"
    Bdo "bdo"
    Bgsound "bgsound"
    Big "big"
    Blink "blink"
    Blockquote "blockquote"
    Body "body"
    Br "br"
    Button "button"
    Canvas "canvas"
    Caption "caption"
    Center "center"
    Cite "cite"
    Code "code"
    Col "col"
    Colgroup "colgroup"
    Data "data"
    Datalist "datalist"
    Dd "dd"
    Del "del"
    Details "details"
    Dfn "dfn"
    Dialog "dialog"
    Dir "dir"
    Div "div"
    Dl "dl"
    Dt "dt"
    Em "em"
    Embed "embed"
    Fieldset "fieldset"
    Figcaption "figcaption"
    Figure "figure"
    Font "font"
    Footer "footer"
    Form "form"
    Frame "frame"
    Frameset "frameset"
    H1 "h1"
    H2 "h2"
    H3 "h3"
    H4 "h4"
    H5 "h5"
    H6 "h6"
    Head "head"
    Header "header"
    Hgroup "hgroup"
    Hr "hr"
    Html "html"
    I "i"
    Iframe "iframe"
    Img "img"
    Input "input"
    Ins "ins"
    Kbd "kbd"
    Keygen "keygen"
    Label "label"
    Legend "legend"
    Li "li"
    Link "link"
    Listing "listing"
    Main "main"
    Map "map"
    Mark "mark"
    Marquee "marquee"
    Menu "menu"
    Meta "meta"
    Meter "meter"
    Nav "nav"
    Nobr "nobr"
    Noembed "noembed"
    Noframes "noframes"
    Noscript "noscript"
    Object "object"
    Ol "ol"
    Optgroup "optgroup"
    Option "option"
    Output "output"
    P "p"
    Param "param"
    Picture "picture"
    Plaintext "plaintext"
    Pre "pre"
    Progress "progress"
    Q "q"
    Rb "rb"
    Rp "rp"
    Rt "rt"
    Rtc "rtc"
    Ruby "ruby"
    S "s"
    Samp "samp"
    Script "script"
    Search "search"
    Section "section"
    Select "select"
    Slot "slot"
    Small "small"
    Source "source"
    Span "span"
    Strike "strike"
    Strong "strong"
    Style "style"
    Sub "sub"
    Summary "summary"
    Sup "sup"
    Table "table"
    Tbody "tbody"
    Td "td"
    Template "template"
    Textarea "textarea"
    Tfoot "tfoot"
    Th "th"
    Thead "thead"
    Time "time"
    Title "title"
    Tr "tr"
    Track "track"
    Tt "tt"
    U "u"
    Ul "ul"
    Var "var"
    Video "video"
    Wbr "wbr"
    Xmp "xmp"
}

impl Tag {
    /// Tag of an HTML element, given its name in lower case.
    pub fn of(name: &str) -> Self {
        match TAGS.binary_search_by_key(&name, |&(known, _)| known) {
            Ok(found) => TAGS[found].1,
            Err(_) => Self::Other,
        }
    }

    /// Name of the element; empty for [`Tag::Other`].
    pub fn name(self) -> &'static str {
        TAGS.get(self as usize).map_or("", |&(name, _)| name)
    }

    /// Whether browsers display the element as a block by default.
    pub const fn is_block(self) -> bool {
        matches!(
            self,
            Self::Address
                | Self::Article
                | Self::Aside
                | Self::Blockquote
                | Self::Body
                | Self::Caption
                | Self::Center
                | Self::Dd
                | Self::Details
                | Self::Dialog
                | Self::Dir
                | Self::Div
                | Self::Dl
                | Self::Dt
                | Self::Fieldset
                | Self::Figcaption
                | Self::Figure
                | Self::Footer
                | Self::Form
                | Self::H1
                | Self::H2
                | Self::H3
                | Self::H4
                | Self::H5
                | Self::H6
                | Self::Header
                | Self::Hgroup
                | Self::Hr
                | Self::Html
                | Self::Legend
                | Self::Li
                | Self::Listing
                | Self::Main
                | Self::Menu
                | Self::Nav
                | Self::Ol
                | Self::Optgroup
                | Self::Option
                | Self::P
                | Self::Plaintext
                | Self::Pre
                | Self::Search
                | Self::Section
                | Self::Summary
                | Self::Table
                | Self::Tbody
                | Self::Tfoot
                | Self::Thead
                | Self::Tr
                | Self::Ul
                | Self::Xmp
                | Self::Frameset
        )
    }

    /// Whether the element is void, without content and end tag: `<br>`, `<img>` and so on.
    pub const fn is_void(self) -> bool {
        matches!(
            self,
            Self::Area
                | Self::Base
                | Self::Basefont
                | Self::Bgsound
                | Self::Br
                | Self::Col
                | Self::Embed
                | Self::Frame
                | Self::Hr
                | Self::Img
                | Self::Input
                | Self::Keygen
                | Self::Link
                | Self::Meta
                | Self::Param
                | Self::Source
                | Self::Track
                | Self::Wbr
        )
    }

    /// Whether the element's text contains no character references: scripts, styles and so on.
    pub const fn is_raw_text(self) -> bool {
        matches!(
            self,
            Self::Style
                | Self::Script
                | Self::Xmp
                | Self::Iframe
                | Self::Noembed
                | Self::Noframes
                | Self::Plaintext
        )
    }

    /// Whether a browser with scripting enabled never renders the element's content.
    pub const fn is_never_shown(self) -> bool {
        matches!(
            self,
            Self::Area
                | Self::Audio
                | Self::Base
                | Self::Basefont
                | Self::Canvas
                | Self::Datalist
                | Self::Head
                | Self::Iframe
                | Self::Link
                | Self::Meta
                | Self::Noembed
                | Self::Noframes
                | Self::Noscript
                | Self::Object
                | Self::Param
                | Self::Rp
                | Self::Script
                | Self::Style
                | Self::Template
                | Self::Title
                | Self::Track
                | Self::Video
        )
    }

    /// Level of a heading, 1 to 6; `None` for every other element.
    pub const fn heading_level(self) -> Option<u8> {
        match self {
            Self::H1 => Some(1),
            Self::H2 => Some(2),
            Self::H3 => Some(3),
            Self::H4 => Some(4),
            Self::H5 => Some(5),
            Self::H6 => Some(6),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TAGS, Tag};

    #[test]
    fn every_name_finds_its_tag_and_back() {
        for &(name, tag) in TAGS {
            assert_eq!(
                Tag::of(name),
                tag,
                "`{name}` is not where its order puts it"
            );
            assert_eq!(tag.name(), name);
        }
        assert_eq!(Tag::of("x-card"), Tag::Other);
        assert_eq!(Tag::Other.name(), "");
    }
}
