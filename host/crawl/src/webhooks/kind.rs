//! Kinds of events and the fields of their bodies.

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A page was crawled; has its content.
    Find,
    /// A page was crawled; has its response headers.
    FindMetadata,
    /// A crawl ended.
    WebsiteStatus,
    /// The account has no credits left.
    CreditsDepleted,
    /// Half of the credits at the start of the crawl are used up.
    CreditsHalfDepleted,
    /// The balance fell below the threshold of the account.
    LowBalance,
    /// The balance is used up.
    EmptyBalance,
}

/// A field of the body of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventField {
    /// Its name.
    pub name: &'static str,
    /// The type of its value.
    pub value: FieldType,
    /// What it is, in a few words.
    pub text: &'static str,
    /// Whether every event of the kind has it.
    pub is_always: bool,
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A list of whole numbers.
    Integers,
    /// An object whose values are strings.
    Texts,
    /// The content of a page: a string, a list, or an object by format.
    Content,
}

const fn field(name: &'static str, value: FieldType, text: &'static str) -> EventField {
    EventField {
        name,
        value,
        text,
        is_always: true,
    }
}

const CRAWL_ID: EventField = field("crawl_id", FieldType::Text, "Id of the crawl or the batch");
const URL: EventField = field("url", FieldType::Text, "URL of the page");
const STATUS: EventField = field("status_code", FieldType::Integer, "Status of the page");
const DOMAIN: EventField = field("domain", FieldType::Text, "Host of the URL");
const PATH: EventField = field("pathname", FieldType::Text, "Path of the URL");
const CAUSE: EventField = EventField {
    name: "cause",
    value: FieldType::Text,
    text: "What went wrong with the page, if it failed",
    is_always: false,
};

const INDEX: EventField = EventField {
    name: "index",
    value: FieldType::Integer,
    text: "Index of the page in the request of a batch, from 0",
    is_always: false,
};
const DUPLICATES: EventField = EventField {
    name: "duplicates",
    value: FieldType::Integers,
    text: "The further indices of the same page in the request of a batch, if there are any",
    is_always: false,
};

const FIND: [EventField; 9] = [
    CRAWL_ID,
    URL,
    STATUS,
    field(
        "content",
        FieldType::Content,
        "Content as in the page's entry, at most 1 MiB of it",
    ),
    DOMAIN,
    PATH,
    CAUSE,
    INDEX,
    DUPLICATES,
];

const FIND_METADATA: [EventField; 9] = [
    CRAWL_ID,
    URL,
    STATUS,
    field(
        "headers",
        FieldType::Texts,
        "Headers of the site's response",
    ),
    DOMAIN,
    PATH,
    CAUSE,
    INDEX,
    DUPLICATES,
];

const WEBSITE_STATUS: [EventField; 7] = [
    CRAWL_ID,
    field("url", FieldType::Text, "URL that the crawl began with"),
    field("mode", FieldType::Text, "Always `complete`"),
    field("stop_reason", FieldType::Text, "Why the crawl ended"),
    DOMAIN,
    field("links", FieldType::Integer, "Pages of the crawl"),
    field(
        "crawl_duration",
        FieldType::Integer,
        "How long it took, in milliseconds",
    ),
];

const BALANCE: [EventField; 2] = [
    field("account", FieldType::Text, "Id of the account"),
    field("credits", FieldType::Integer, "Whole credits that are left"),
];

impl EventKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Find,
        Self::FindMetadata,
        Self::WebsiteStatus,
        Self::CreditsDepleted,
        Self::CreditsHalfDepleted,
        Self::LowBalance,
        Self::EmptyBalance,
    ];

    /// Its name, which is also the parameter that turns it on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Find => "on_find",
            Self::FindMetadata => "on_find_metadata",
            Self::WebsiteStatus => "on_website_status",
            Self::CreditsDepleted => "on_credits_depleted",
            Self::CreditsHalfDepleted => "on_credits_half_depleted",
            Self::LowBalance => "on_low_balance",
            Self::EmptyBalance => "on_empty_balance",
        }
    }

    /// When it is sent.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Find => "A page of a crawl or a batch, with its content",
            Self::FindMetadata => "A page of a crawl or a batch, with its headers",
            Self::WebsiteStatus => "A crawl or a batch ended",
            Self::CreditsDepleted => "The balance was used up during a crawl",
            Self::CreditsHalfDepleted => {
                "The balance is half of what it was when the crawl started"
            }
            Self::LowBalance => "The balance fell below the account's threshold",
            Self::EmptyBalance => "Less than a credit of the balance is left",
        }
    }

    /// The fields of its body next to `event`, which is its name.
    pub const fn fields(self) -> &'static [EventField] {
        match self {
            Self::Find => &FIND,
            Self::FindMetadata => &FIND_METADATA,
            Self::WebsiteStatus => &WEBSITE_STATUS,
            Self::CreditsDepleted
            | Self::CreditsHalfDepleted
            | Self::LowBalance
            | Self::EmptyBalance => &BALANCE,
        }
    }
}
