//! Decodes content codings as the bytes arrive. The limit on the body holds during decoding, so a
//! decompression bomb ends at it.

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use flate2::write::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::Write;
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, Operation};

/// Stacked codings that are decoded. Two happen by accident (a server and its proxy); more is an
/// attack.
pub const CODINGS_MAX: usize = 3;
/// Window of a zstd body, as a power of two: 8 MiB, the most RFC 9659 allows a server to require.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Bytes decoded in one step, and the size of the buffer.
const STEP_BYTES: usize = 32 * 1024;

/// Why a body could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodingError {
    /// The coding is not supported.
    #[error("content encoding `{0}` is not supported")]
    Unknown(String),
    /// More codings than [`CODINGS_MAX`].
    #[error("the body has more than {CODINGS_MAX} content encodings")]
    TooMany,
    /// The bytes are not what the header says.
    #[error("the body is not valid {0}")]
    Corrupt(&'static str),
    /// The body ends early, or its checksum is wrong.
    #[error("the {0} body is truncated or corrupt")]
    Truncated(&'static str),
    /// The decoded body exceeds its limit.
    #[error("the decoded body is larger than {0} bytes, the most that is fetched")]
    TooLarge(usize),
}

/// Decodes one body.
pub(super) struct Decoder {
    /// Outermost first: the last one applied is the first one decoded.
    codings: Vec<Coding>,
    body: Body,
}

/// The decoded body, up to its limit.
struct Body {
    bytes: Vec<u8>,
    bytes_max: usize,
}

type Brotli = BrotliState<HeapAlloc<u8>, HeapAlloc<u32>, HeapAlloc<HuffmanCode>>;

enum Coding {
    Gzip {
        member: Box<GzDecoder<Vec<u8>>>,
        state: State,
    },
    Deflate {
        stream: Option<Decompress>,
        head: Vec<u8>,
        state: State,
    },
    Brotli {
        stream: Box<Brotli>,
        state: State,
    },
    Zstd {
        stream: ZstdDecoder<'static>,
        state: State,
    },
}

/// How far the decoding of a coding is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No bytes have arrived. An empty body is empty in every coding.
    Empty,
    Inside,
    /// At a point where the body may end.
    Complete,
}

/// Receives decoded bytes.
type Emit<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), CodingError>;

impl Decoder {
    /// Builds a decoder for a body with these headers, of at most `bytes_max` decoded bytes.
    ///
    /// # Errors
    /// [`CodingError::Unknown`] and [`CodingError::TooMany`].
    pub(super) fn new(headers: &HeaderMap, bytes_max: usize) -> Result<Self, CodingError> {
        let mut codings = Vec::new();
        for value in headers.get_all(CONTENT_ENCODING) {
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            for name in value.split(',').map(str::trim) {
                codings.extend(Coding::named(name)?);
            }
        }
        if codings.len() > CODINGS_MAX {
            return Err(CodingError::TooMany);
        }
        codings.reverse();
        let bytes = Vec::new();
        Ok(Self {
            codings,
            body: Body { bytes, bytes_max },
        })
    }

    /// Whether the body has no coding.
    pub(super) fn is_identity(&self) -> bool {
        self.codings.is_empty()
    }

    /// Bytes decoded so far.
    pub(super) fn decoded_bytes(&self) -> usize {
        self.body.bytes.len()
    }

    /// Decodes the next bytes as they came over the wire.
    ///
    /// # Errors
    /// [`CodingError::Corrupt`] and [`CodingError::TooLarge`].
    pub(super) fn push(&mut self, input: &[u8]) -> Result<(), CodingError> {
        feed(&mut self.codings, input, &mut self.body)
    }

    /// Returns the body once all of it has arrived.
    ///
    /// # Errors
    /// [`CodingError::Truncated`], and those of [`Decoder::push`].
    pub(super) fn finish(self) -> Result<Vec<u8>, CodingError> {
        let (body, ended) = self.end();
        ended.map(|()| body)
    }

    /// Returns as much of the body as could be decoded, up to its limit, and whether that is all of
    /// it.
    pub(super) fn end(mut self) -> (Vec<u8>, Result<(), CodingError>) {
        let mut codings = self.codings.as_mut_slice();
        let mut ended = Ok(());
        while let [first, rest @ ..] = codings {
            let finished = first.finish(&mut |decoded| feed(rest, decoded, &mut self.body));
            ended = ended.and(finished);
            codings = rest;
        }
        (self.body.bytes, ended)
    }
}

/// Passes bytes through the codings into the body. Recurses once per coding.
fn feed(codings: &mut [Coding], input: &[u8], body: &mut Body) -> Result<(), CodingError> {
    match codings {
        [] => body.extend(input),
        [first, rest @ ..] => first.push(input, &mut |decoded| feed(rest, decoded, body)),
    }
}

impl Body {
    fn extend(&mut self, bytes: &[u8]) -> Result<(), CodingError> {
        let room = self.bytes_max - self.bytes.len();
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room {
            Err(CodingError::TooLarge(self.bytes_max))
        } else {
            Ok(())
        }
    }
}

impl Coding {
    /// The coding of this name; `None` for the names of "no coding".
    fn named(name: &str) -> Result<Option<Self>, CodingError> {
        let state = State::Empty;
        Ok(Some(match name {
            "" | "identity" | "none" => return Ok(None),
            "gzip" | "x-gzip" => Self::Gzip {
                member: new_member(),
                state,
            },
            "deflate" => Self::Deflate {
                stream: None,
                head: Vec::new(),
                state,
            },
            "br" => Self::Brotli {
                stream: new_brotli(),
                state,
            },
            "zstd" => Self::Zstd {
                stream: new_zstd()?,
                state,
            },
            _ => return Err(CodingError::Unknown(name.escape_debug().take(40).collect())),
        }))
    }

    fn push(&mut self, input: &[u8], emit: Emit<'_>) -> Result<(), CodingError> {
        if input.is_empty() {
            return Ok(());
        }
        match self {
            Self::Gzip { member, state } => push_gzip(member, state, input, emit),
            Self::Deflate {
                stream,
                head,
                state,
            } => {
                let Some(stream) = stream else {
                    // The first two bytes distinguish the zlib format that the standard requires
                    // from the raw stream that some servers send.
                    head.extend_from_slice(input);
                    if head.len() < 2 {
                        *state = State::Inside;
                        return Ok(());
                    }
                    let new = stream.insert(Decompress::new(is_zlib(head)));
                    return push_deflate(new, state, &std::mem::take(head), emit);
                };
                push_deflate(stream, state, input, emit)
            }
            Self::Brotli { stream, state } => push_brotli(stream, state, input, emit),
            Self::Zstd { stream, state } => push_zstd(stream, state, input, emit),
        }
    }

    fn finish(&mut self, emit: Emit<'_>) -> Result<(), CodingError> {
        let (name, state) = match self {
            Self::Gzip { member, state } => {
                if *state == State::Inside {
                    end_member(member, emit)?;
                    *state = State::Complete;
                }
                ("gzip", *state)
            }
            Self::Deflate { state, .. } => ("deflate", *state),
            Self::Brotli { state, .. } => ("br", *state),
            Self::Zstd { state, .. } => ("zstd", *state),
        };
        match state {
            State::Inside => Err(CodingError::Truncated(name)),
            State::Empty | State::Complete => Ok(()),
        }
    }
}

fn new_member() -> Box<GzDecoder<Vec<u8>>> {
    Box::new(GzDecoder::new(Vec::new()))
}

fn push_gzip(
    member: &mut Box<GzDecoder<Vec<u8>>>,
    state: &mut State,
    mut input: &[u8],
    emit: Emit<'_>,
) -> Result<(), CodingError> {
    while !input.is_empty() {
        if *state == State::Complete {
            // Another member may follow; anything else after the end is padding, which browsers
            // ignore.
            if input[0] != 0x1f {
                return Ok(());
            }
            *member = new_member();
        }
        *state = State::Inside;
        let read = member
            .write(input)
            .map_err(|_| CodingError::Corrupt("gzip"))?;
        emit(member.get_ref())?;
        member.get_mut().clear();
        if read == 0 {
            end_member(member, emit)?;
            *state = State::Complete;
        }
        input = &input[read..];
    }
    Ok(())
}

/// Checks length and checksum of a gzip member.
fn end_member(member: &mut GzDecoder<Vec<u8>>, emit: Emit<'_>) -> Result<(), CodingError> {
    let ended = member.try_finish();
    emit(member.get_ref())?;
    member.get_mut().clear();
    ended.map_err(|_| CodingError::Truncated("gzip"))
}

/// RFC 1950 section 2.2: method 8, and a header that is a multiple of 31.
fn is_zlib(head: &[u8]) -> bool {
    head[0] & 0x0f == 8 && u16::from_be_bytes([head[0], head[1]]).is_multiple_of(31)
}

fn push_deflate(
    stream: &mut Decompress,
    state: &mut State,
    mut input: &[u8],
    emit: Emit<'_>,
) -> Result<(), CodingError> {
    let mut buffer = [0; STEP_BYTES];
    while *state != State::Complete {
        *state = State::Inside;
        let (read, written) = (stream.total_in(), stream.total_out());
        let status = stream
            .decompress(input, &mut buffer, FlushDecompress::None)
            .map_err(|_| CodingError::Corrupt("deflate"))?;
        let (read, written) = (
            (stream.total_in() - read) as usize,
            (stream.total_out() - written) as usize,
        );
        emit(&buffer[..written])?;
        input = &input[read..];
        if status == Status::StreamEnd {
            *state = State::Complete;
        } else if read == 0 && written == 0 {
            // A call may flush its window and leave the input for the next one, so only a call
            // without any progress is the last.
            break;
        }
    }
    Ok(())
}

/// A decoder without the large windows (up to 1 GiB of memory) of RFC 9841, which no browser
/// advertises.
fn new_brotli() -> Box<Brotli> {
    Box::new(BrotliState::new_strict(
        HeapAlloc::new(0),
        HeapAlloc::new(0),
        HeapAlloc::new(HuffmanCode { bits: 2, value: 1 }),
    ))
}

fn push_brotli(
    stream: &mut Brotli,
    state: &mut State,
    input: &[u8],
    emit: Emit<'_>,
) -> Result<(), CodingError> {
    let mut buffer = [0; STEP_BYTES];
    let (mut available, mut read, mut total) = (input.len(), 0, 0);
    while *state != State::Complete {
        *state = State::Inside;
        let (mut room, mut written) = (STEP_BYTES, 0);
        let result = BrotliDecompressStream(
            &mut available,
            &mut read,
            input,
            &mut room,
            &mut written,
            &mut buffer,
            &mut total,
            stream,
        );
        emit(&buffer[..written])?;
        match result {
            BrotliResult::ResultSuccess => *state = State::Complete,
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => break,
            BrotliResult::ResultFailure => return Err(CodingError::Corrupt("br")),
        }
    }
    Ok(())
}

fn new_zstd() -> Result<ZstdDecoder<'static>, CodingError> {
    let unusable = |_| CodingError::Corrupt("zstd");
    let mut stream = ZstdDecoder::new().map_err(unusable)?;
    stream
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
        .map_err(unusable)?;
    Ok(stream)
}

fn push_zstd(
    stream: &mut ZstdDecoder<'static>,
    state: &mut State,
    mut input: &[u8],
    emit: Emit<'_>,
) -> Result<(), CodingError> {
    let mut buffer = [0; STEP_BYTES];
    loop {
        let step = stream
            .run_on_buffers(input, &mut buffer)
            .map_err(|_| CodingError::Corrupt("zstd"))?;
        *state = match step.remaining {
            0 => State::Complete,
            _ => State::Inside,
        };
        emit(&buffer[..step.bytes_written])?;
        input = &input[step.bytes_read..];
        if input.is_empty() && step.bytes_written < STEP_BYTES {
            return Ok(());
        }
        // The buffer is full at the very end of a frame: another call would start a new frame.
        if input.is_empty() && *state == State::Complete {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
