//! What held bytes are for.

/// What the bytes of a lease are for. `GET /health` and the metric `trawl_memory_held_bytes` list
/// them by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Bodies of requests to this server, until the request is planned and served.
    RequestBodies,
    /// Bodies of pages, of robots.txt files, of sitemaps and of providers' replies, and
    /// screenshots.
    PageBodies,
    /// Documents, outputs, and entries until they are recorded and sent.
    Outputs,
    /// Responses that are collected before they are sent: those with an `Idempotency-Key`, also
    /// when they are repeated, and the content of `/fetch`.
    Answers,
    /// What is read back from the store: entries of crawls and rows of lists.
    Stored,
    /// Webhook events that are being delivered.
    Webhooks,
}

impl MemoryKind {
    /// Every kind, in the order of their discriminants.
    pub const ALL: [Self; 6] = [
        Self::RequestBodies,
        Self::PageBodies,
        Self::Outputs,
        Self::Answers,
        Self::Stored,
        Self::Webhooks,
    ];

    /// Its name in `GET /health` and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RequestBodies => "request_bodies",
            Self::PageBodies => "page_bodies",
            Self::Outputs => "outputs",
            Self::Answers => "answers",
            Self::Stored => "stored",
            Self::Webhooks => "webhooks",
        }
    }
}
