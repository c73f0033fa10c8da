//! Decodes content codings as the bytes arrive, in steps of bounded work. The limit on the body
//! holds for every coding and during decoding, so a decompression bomb ends at it.

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use bytes::{Buf, Bytes};
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
/// Bytes that a coding emits in one step, about.
const STEP_BYTES: usize = 32 * 1024;
/// Bytes that a coding reads in one step: empty blocks cost time and emit nothing.
const INPUT_STEP_BYTES: usize = 16 * 1024;
/// Members of one gzip body. Those of blocked gzip have 64 KiB; each costs some microseconds, also
/// if it is empty.
const MEMBERS_MAX: usize = 65_536;

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
    /// More than [`MEMBERS_MAX`] gzip members.
    #[error("the gzip body has more than {MEMBERS_MAX} members")]
    TooManyMembers,
    /// The decoded body, or what one of its codings emits, exceeds the limit.
    #[error("the decoded body is larger than {0} bytes, the most that is fetched")]
    TooLarge(usize),
}

/// Decodes one body, in steps of bounded work: whoever drives it can wait between two of them.
pub(super) struct Decoder {
    /// Outermost first: the last one applied is the first one decoded.
    stages: Vec<Stage>,
    /// What has arrived and is not decoded yet.
    input: Bytes,
    /// Most bytes that any stage emits.
    bytes_max: usize,
    is_ended: bool,
    /// What was wrong with the end of the body.
    fault: Option<CodingError>,
}

/// What a step of a [`Decoder`] did.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// The next bytes of the body, at most four [`STEP_BYTES`].
    Emitted(&'a [u8]),
    /// Work inside, without bytes of the body.
    Working,
    /// Everything that has arrived is decoded.
    Idle,
}

/// One coding and its output.
struct Stage {
    coding: Coding,
    /// Output of its last step.
    output: Vec<u8>,
    /// What the next stage has taken of it.
    taken: usize,
    /// Bytes emitted so far.
    emitted: usize,
    /// Whether it may emit more without more input.
    has_more: bool,
    is_finished: bool,
}

/// What one step of a coding did.
struct Progress {
    /// Bytes of input that were used up.
    read: usize,
    /// Whether it may emit more without more input.
    has_more: bool,
}

type Brotli = BrotliState<HeapAlloc<u8>, HeapAlloc<u32>, HeapAlloc<HuffmanCode>>;

enum Coding {
    Gzip {
        member: Box<GzDecoder<Vec<u8>>>,
        n_members: usize,
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
    /// Behind the end, where everything is dropped.
    Padding,
}

impl Decoder {
    /// Builds a decoder for a body with these headers. No coding emits more than `bytes_max` bytes,
    /// also those whose output is another coding's input.
    ///
    /// # Errors
    /// [`CodingError::Unknown`] and [`CodingError::TooMany`].
    pub(super) fn new(headers: &HeaderMap, bytes_max: usize) -> Result<Self, CodingError> {
        let mut stages = Vec::new();
        for value in headers.get_all(CONTENT_ENCODING) {
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            for name in value.split(',').map(str::trim) {
                stages.extend(Coding::named(name)?.map(Stage::new));
            }
        }
        if stages.len() > CODINGS_MAX {
            return Err(CodingError::TooMany);
        }
        stages.reverse();
        Ok(Self {
            stages,
            input: Bytes::new(),
            bytes_max,
            is_ended: false,
            fault: None,
        })
    }

    /// Whether the body has no coding.
    pub(super) fn is_identity(&self) -> bool {
        self.stages.is_empty()
    }

    /// Adds the next bytes as they came over the wire, after everything before is decoded.
    pub(super) fn push(&mut self, input: Bytes) {
        self.input = input;
    }

    /// Says that the body has ended. The steps that follow decode the rest, as far as it goes.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }

    /// One step of bounded work in one stage: the innermost that has something to do, so that no
    /// stage holds more than one step of output.
    ///
    /// # Errors
    /// [`CodingError::Corrupt`], [`CodingError::TooLarge`] and [`CodingError::TooManyMembers`];
    /// after the end also [`CodingError::Truncated`], once everything is emitted.
    pub(super) fn step(&mut self) -> Result<Step<'_>, CodingError> {
        let n_stages = self.stages.len();
        let busy = (0..n_stages).rev().find(|stage| {
            let (before, rest) = self.stages.split_at(*stage);
            rest[0].has_more || !input_of(&self.input, before).is_empty()
        });
        let worked = match busy {
            Some(stage) => {
                self.decode(stage)?;
                stage
            }
            None if !self.is_ended => return Ok(Step::Idle),
            None => {
                let unfinished = self.stages.iter().position(|stage| !stage.is_finished);
                let Some(stage) = unfinished else {
                    return self.fault.take().map_or(Ok(Step::Idle), Err);
                };
                self.finish(stage);
                stage
            }
        };
        let stage = &mut self.stages[worked];
        stage.emitted += stage.output.len();
        if worked + 1 < n_stages {
            if stage.emitted > self.bytes_max {
                return Err(CodingError::TooLarge(self.bytes_max));
            }
            return Ok(Step::Working);
        }
        Ok(match stage.output.as_slice() {
            [] => Step::Working,
            bytes => Step::Emitted(bytes),
        })
    }

    fn decode(&mut self, stage: usize) -> Result<(), CodingError> {
        let (before, rest) = self.stages.split_at_mut(stage);
        let input = input_of(&self.input, before);
        let input = &input[..input.len().min(INPUT_STEP_BYTES)];
        let current = &mut rest[0];
        current.output.clear();
        current.taken = 0;
        let progress = current.coding.decode(input, &mut current.output)?;
        current.has_more = progress.has_more;
        match before.last_mut() {
            None => self.input.advance(progress.read),
            Some(before) => before.taken += progress.read,
        }
        Ok(())
    }

    fn finish(&mut self, stage: usize) {
        let stage = &mut self.stages[stage];
        stage.output.clear();
        (stage.taken, stage.is_finished) = (0, true);
        if let Err(fault) = stage.coding.finish(&mut stage.output) {
            self.fault.get_or_insert(fault);
        }
    }
}

/// What a stage reads: the output of the one before it, or the body.
fn input_of<'a>(body: &'a Bytes, before: &'a [Stage]) -> &'a [u8] {
    match before.last() {
        None => body,
        Some(before) => &before.output[before.taken..],
    }
}

impl Stage {
    fn new(coding: Coding) -> Self {
        Self {
            coding,
            output: Vec::new(),
            taken: 0,
            emitted: 0,
            has_more: false,
            is_finished: false,
        }
    }
}

impl Progress {
    /// All of the input was used up, and there is no more output.
    fn all(input: &[u8]) -> Self {
        Self {
            read: input.len(),
            has_more: false,
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
                n_members: 1,
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

    /// Decodes some of the input, at most about [`STEP_BYTES`] of output.
    fn decode(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Progress, CodingError> {
        match self {
            Self::Gzip {
                member,
                n_members,
                state,
            } => decode_gzip(member, n_members, state, input, output),
            Self::Deflate {
                stream: Some(stream),
                state,
                ..
            } => decode_deflate(stream, state, input, output),
            Self::Deflate {
                stream,
                head,
                state,
            } => {
                // The first two bytes distinguish the zlib format that the standard requires from
                // the raw stream that some servers send.
                let read = input.len().min(2 - head.len());
                head.extend_from_slice(&input[..read]);
                *state = State::Inside;
                if head.len() == 2 {
                    let stream = stream.insert(Decompress::new(is_zlib(head)));
                    decode_deflate(stream, state, head, output)?;
                }
                let has_more = false;
                Ok(Progress { read, has_more })
            }
            Self::Brotli { stream, state } => decode_brotli(stream, state, input, output),
            Self::Zstd { stream, state } => decode_zstd(stream, state, input, output),
        }
    }

    fn finish(&mut self, output: &mut Vec<u8>) -> Result<(), CodingError> {
        let (name, state) = match self {
            Self::Gzip { member, state, .. } => {
                if *state == State::Inside {
                    end_member(member, output)?;
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
            State::Empty | State::Complete | State::Padding => Ok(()),
        }
    }
}

fn new_member() -> Box<GzDecoder<Vec<u8>>> {
    Box::new(GzDecoder::new(Vec::new()))
}

fn decode_gzip(
    member: &mut Box<GzDecoder<Vec<u8>>>,
    n_members: &mut usize,
    state: &mut State,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Progress, CodingError> {
    if *state == State::Complete {
        // Another member may follow; anything else after the end is padding, which browsers
        // ignore.
        if input.first() != Some(&0x1f) {
            *state = State::Padding;
        } else if *n_members == MEMBERS_MAX {
            return Err(CodingError::TooManyMembers);
        }
        *n_members += 1;
        *member = new_member();
    }
    // Padding goes on to the end, whatever is in it and whatever pieces it comes in.
    if *state == State::Padding {
        return Ok(Progress::all(input));
    }
    *state = State::Inside;
    let read = member
        .write(input)
        .map_err(|_| CodingError::Corrupt("gzip"))?;
    output.append(member.get_mut());
    if read == 0 {
        end_member(member, output)?;
        *state = State::Complete;
    }
    let has_more = false;
    Ok(Progress { read, has_more })
}

/// Checks length and checksum of a gzip member, and emits the rest of it.
fn end_member(member: &mut GzDecoder<Vec<u8>>, output: &mut Vec<u8>) -> Result<(), CodingError> {
    let ended = member.try_finish();
    output.append(member.get_mut());
    ended.map_err(|_| CodingError::Truncated("gzip"))
}

/// RFC 1950 section 2.2: method 8, and a header that is a multiple of 31.
fn is_zlib(head: &[u8]) -> bool {
    head[0] & 0x0f == 8 && u16::from_be_bytes([head[0], head[1]]).is_multiple_of(31)
}

fn decode_deflate(
    stream: &mut Decompress,
    state: &mut State,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Progress, CodingError> {
    if *state == State::Complete {
        return Ok(Progress::all(input));
    }
    *state = State::Inside;
    let (read, written) = (stream.total_in(), output.len());
    output.reserve(STEP_BYTES);
    let status = stream
        .decompress_vec(input, output, FlushDecompress::None)
        .map_err(|_| CodingError::Corrupt("deflate"))?;
    let read = (stream.total_in() - read) as usize;
    let has_written = output.len() > written;
    if status == Status::StreamEnd {
        *state = State::Complete;
        return Ok(Progress::all(input));
    }
    if read == 0 && !has_written {
        return Ok(Progress::all(input));
    }
    // A call may flush its window and leave the input for the next one, so only a call without any
    // progress is the last.
    let has_more = has_written;
    Ok(Progress { read, has_more })
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

fn decode_brotli(
    stream: &mut Brotli,
    state: &mut State,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Progress, CodingError> {
    if *state == State::Complete {
        return Ok(Progress::all(input));
    }
    *state = State::Inside;
    output.resize(STEP_BYTES, 0);
    let (mut available, mut read, mut total) = (input.len(), 0, 0);
    let (mut room, mut written) = (STEP_BYTES, 0);
    let result = BrotliDecompressStream(
        &mut available,
        &mut read,
        input,
        &mut room,
        &mut written,
        output,
        &mut total,
        stream,
    );
    output.truncate(written);
    match result {
        BrotliResult::ResultSuccess => {
            *state = State::Complete;
            Ok(Progress::all(input))
        }
        BrotliResult::NeedsMoreOutput => {
            let has_more = true;
            Ok(Progress { read, has_more })
        }
        BrotliResult::NeedsMoreInput => Ok(Progress::all(input)),
        BrotliResult::ResultFailure => Err(CodingError::Corrupt("br")),
    }
}

fn new_zstd() -> Result<ZstdDecoder<'static>, CodingError> {
    let unusable = |_| CodingError::Corrupt("zstd");
    let mut stream = ZstdDecoder::new().map_err(unusable)?;
    stream
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
        .map_err(unusable)?;
    Ok(stream)
}

fn decode_zstd(
    stream: &mut ZstdDecoder<'static>,
    state: &mut State,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Progress, CodingError> {
    output.resize(STEP_BYTES, 0);
    let step = stream
        .run_on_buffers(input, output)
        .map_err(|_| CodingError::Corrupt("zstd"))?;
    output.truncate(step.bytes_written);
    *state = match step.remaining {
        0 => State::Complete,
        _ => State::Inside,
    };
    // The buffer may be full at the very end of a frame: another call would start a new frame.
    let is_end = step.bytes_read == input.len() && *state == State::Complete;
    Ok(Progress {
        read: step.bytes_read,
        has_more: step.bytes_written == STEP_BYTES && !is_end,
    })
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
