//! Decodes bytes in any character set to UTF-8. Invalid bytes become replacement characters and
//! affect nothing else.

use std::io::{BufRead, Read};

use encoding_rs::{Decoder, Encoding, UTF_8};

/// Bytes decoded in one step.
const STEP_BYTES: usize = 16 * 1024;
/// Bytes in which an XML declaration must end.
const DECLARATION_BYTES_MAX: usize = 256;

/// A UTF-8 reader over a reader of any character set.
pub(super) struct Utf8<R> {
    source: R,
    decoder: Decoder,
    step: Vec<u8>,
    /// Bytes of the step that have been read.
    read: usize,
    is_over: bool,
}

impl<R: BufRead> Utf8<R> {
    /// Detects the character set by the byte order mark or the XML declaration; UTF-8 without
    /// either.
    pub(super) fn new(mut source: R) -> std::io::Result<Self> {
        let start = source.fill_buf()?;
        let (encoding, mark_bytes) = match Encoding::for_bom(start) {
            Some(found) => found,
            None => (declared(start).unwrap_or(UTF_8), 0),
        };
        source.consume(mark_bytes);
        Ok(Self {
            source,
            decoder: encoding.new_decoder_without_bom_handling(),
            step: Vec::new(),
            read: 0,
            is_over: false,
        })
    }
}

impl<R: BufRead> Read for Utf8<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.read == self.step.len() {
            if self.is_over {
                return Ok(0);
            }
            let bytes = self.source.fill_buf()?;
            self.is_over = bytes.is_empty();
            self.step.resize(STEP_BYTES, 0);
            let (_, taken, written, _) =
                self.decoder
                    .decode_to_utf8(bytes, &mut self.step, self.is_over);
            self.source.consume(taken);
            self.step.truncate(written);
            self.read = 0;
        }
        let left = &self.step[self.read..];
        let len = left.len().min(buffer.len());
        buffer[..len].copy_from_slice(&left[..len]);
        self.read += len;
        Ok(len)
    }
}

/// The character set of `<?xml … encoding="…"?>`. An encoding that is not ASCII-compatible cannot
/// be declared this way.
fn declared(start: &[u8]) -> Option<&'static Encoding> {
    let start = &start[..start.len().min(DECLARATION_BYTES_MAX)];
    let declaration = start.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memmem::find(declaration, b"?>")?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let mut parts = declaration[at..].split(|byte| matches!(byte, b'"' | b'\''));
    let encoding = Encoding::for_label(parts.nth(1)?)?;
    encoding.is_ascii_compatible().then_some(encoding)
}
