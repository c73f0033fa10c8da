//! Trace context: the ids by which a request is found in the logs of all services that it passes.
//! Source: W3C Trace Context, `traceparent`.

use std::fmt;

/// Name of the header.
pub const TRACEPARENT: &str = "traceparent";
/// Flags that this version of the format knows: sampled, and random trace id.
const KNOWN_FLAGS: u8 = 0b11;

/// A span of a trace: the trace's id, its own, and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

/// The trace of a request, and where its context is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTrace {
    /// The span of the request.
    pub context: TraceContext,
    /// Whether requests for its pages carry it.
    pub in_requests: bool,
    /// Whether its webhooks carry it.
    pub in_webhooks: bool,
}

impl RequestTrace {
    /// The context that requests for its pages carry.
    pub fn for_requests(self) -> Option<TraceContext> {
        self.in_requests.then_some(self.context)
    }

    /// The context that its webhooks carry.
    pub fn for_webhooks(self) -> Option<TraceContext> {
        self.in_webhooks.then_some(self.context)
    }
}

impl TraceContext {
    /// The context with these ids and flags; `None` if an id is zero, which is none.
    pub fn new(trace_id: u128, span_id: u64, flags: u8) -> Option<Self> {
        let context = Self {
            trace_id,
            span_id,
            flags: flags & KNOWN_FLAGS,
        };
        (trace_id != 0 && span_id != 0).then_some(context)
    }

    /// The id of the trace, the id of the span, and the flags.
    pub fn parts(self) -> (u128, u64, u8) {
        (self.trace_id, self.span_id, self.flags)
    }

    /// Reads the value of a `traceparent` header; `None` if it is not valid, which is as if there
    /// were none. Of a later version the parts of this one are read.
    pub fn parse(value: &str) -> Option<Self> {
        let version = hex(value.get(..2)?)?;
        let rest = value.get(2..)?.strip_prefix('-')?;
        let (trace_id, rest) = (rest.get(..32)?, rest.get(32..)?.strip_prefix('-')?);
        let (span_id, rest) = (rest.get(..16)?, rest.get(16..)?.strip_prefix('-')?);
        let (flags, rest) = (rest.get(..2)?, rest.get(2..)?);
        let is_whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let (trace_id, span_id) = (hex(trace_id)?, u64::try_from(hex(span_id)?).ok()?);
        let context = Self::new(trace_id, span_id, u8::try_from(hex(flags)?).ok()?);
        context.filter(|_| is_whole)
    }

    /// A span below this one, with an id of this random number.
    #[must_use]
    pub fn child(self, random: u64) -> Self {
        Self {
            // Zero is no id.
            span_id: random.max(1),
            ..self
        }
    }

    /// The id of the trace: 32 hexadecimal digits.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace_id)
    }

    /// The id of the span: 16 hexadecimal digits.
    pub fn span_id(self) -> String {
        format!("{:016x}", self.span_id)
    }
}

impl fmt::Display for TraceContext {
    /// The value of a `traceparent` header.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            span_id,
            flags,
        } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

/// A number of lower case digits.
fn hex(digits: &str) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let number = u128::from_str_radix(digits, 16).ok();
    number.filter(|_| digits.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn a_context_is_read_and_written() {
        let value = format!("00-{TRACE}-{SPAN}-01");
        let context = TraceContext::parse(&value).expect("a context");
        assert_eq!(context.trace_id(), TRACE);
        assert_eq!(context.span_id(), SPAN);
        assert_eq!(context.to_string(), value);
        let (trace_id, span_id, flags) = context.parts();
        assert_eq!(TraceContext::new(trace_id, span_id, flags), Some(context));
        assert_eq!(TraceContext::new(0, span_id, flags), None);
        assert_eq!(TraceContext::new(trace_id, 0, flags), None);
        let child = context.child(0x1f);
        assert_eq!(child.to_string(), format!("00-{TRACE}-000000000000001f-01"));
        assert_eq!(context.child(0).span_id(), "0000000000000001");
        let later = TraceContext::parse(&format!("01-{TRACE}-{SPAN}-ff-more"));
        let expected = format!("00-{TRACE}-{SPAN}-03");
        assert_eq!(later.expect("a context").to_string(), expected);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(trace_id in 1_u128.., span_id in 1_u64.., flags in 0..=KNOWN_FLAGS) {
            let context = TraceContext { trace_id, span_id, flags };
            prop_assert_eq!(TraceContext::parse(&context.to_string()), Some(context));
        }

        #[test]
        fn any_text_is_a_context_or_none(text in ".{0,60}") {
            let Some(context) = TraceContext::parse(&text) else {
                return Ok(());
            };
            prop_assert!(text.contains(&context.trace_id()));
        }
    }

    #[test]
    fn other_values_are_no_context() {
        let (no_trace, no_span) = ("0".repeat(32), "0".repeat(16));
        for wrong in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("00-{TRACE}-{SPAN}-01x"),
            format!("01-{TRACE}-{SPAN}-01x"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{no_trace}-{SPAN}-01"),
            format!("00-{TRACE}-{no_span}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-+{}-{SPAN}-01", &TRACE[1..]),
            format!("00-{TRACE}_{SPAN}-01"),
            format!("00-{TRACE}-ü{}-01", &SPAN[2..]),
            format!(" 00-{TRACE}-{SPAN}-01"),
        ] {
            assert_eq!(TraceContext::parse(&wrong), None, "{wrong}");
        }
    }
}
