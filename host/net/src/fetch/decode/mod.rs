//! Decodes content codings as the bytes arrive, in steps of bounded work. The limit on the body
//! holds for every coding and during decoding, so a decompression bomb ends at it.

mod inflate;

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, Operation};

use inflate::Inflater;

/// Stacked codings that are decoded. Two happen by accident (a server and its proxy); more is an
/// attack.
pub const CODINGS_MAX: usize = 3;
/// Window of a zstd body, as a power of two: 8 MiB, the most RFC 9659 allows a server to require.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Bytes that a coding emits in one step, about.
const STEP_BYTES: usize = 32 * 1024;
/// Bytes that a coding reads in one step: empty blocks cost time and emit nothing.
const INPUT_STEP_BYTES: usize = 16 * 1024;
/// Members of one gzip body. In blocked gzip they have 64 KiB; each costs some microseconds, also
/// if it is empty.
const MEMBERS_MAX: usize = 65_536;

/// Why a body could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodingError {
    /// More codings than [`CODINGS_MAX`].
    #[error("the body has more than {CODINGS_MAX} content encodings")]
    TooMany,
    /// The bytes are not what the header says.
    #[error("the body is not valid {0}")]
    Corrupt(&'static str),
    /// The body ends early.
    #[error("the {0} body is truncated")]
    Truncated(&'static str),
    /// The body is whole, but its checksum is missing or wrong.
    #[error("the {0} body has no valid checksum at its end")]
    Unverified(&'static str),
    /// More than [`MEMBERS_MAX`] gzip members.
    #[error("the gzip body has more than {MEMBERS_MAX} members")]
    TooManyMembers,
    /// The decoded body, or what one of its codings emits, exceeds the limit.
    #[error("the decoded body is larger than {0} bytes, the limit")]
    TooLarge(usize),
}

/// Decodes one body, in steps of bounded work: its driver can wait between two of them.
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
    Inflate(Inflater),
    Brotli {
        stream: Box<Brotli>,
        state: CodingState,
    },
    Zstd {
        stream: ZstdDecoder<'static>,
        state: CodingState,
    },
}

/// How far the decoding of a coding is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodingState {
    /// No bytes have arrived. An empty body is empty in every coding.
    Empty,
    Inside,
    /// At a point where the body may end.
    Complete,
}

impl Decoder {
    /// Builds a decoder for a body with these headers. No coding emits more than `bytes_max` bytes,
    /// also those whose output is another coding's input.
    ///
    /// Names that are not codings, such as `UTF-8` or `aws-chunked`, are passed over, as in
    /// browsers: servers write them at bodies that they send as they are.
    ///
    /// # Errors
    /// [`CodingError::TooMany`].
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

    /// Records that the body has ended. The steps that follow decode the rest, if it can be
    /// decoded.
    pub(super) fn end(&mut self) {
        self.is_ended = true;
    }

    /// One step of bounded work in one stage: the innermost that has something to do, so that no
    /// stage holds more than one step of output.
    ///
    /// # Errors
    /// [`CodingError::Corrupt`], [`CodingError::TooLarge`] and [`CodingError::TooManyMembers`];
    /// after the end also [`CodingError::Truncated`] and [`CodingError::Unverified`], once
    /// everything is emitted.
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
        if let Err(fault) = stage.coding.finish() {
            // A body that is not whole is worse than one that is not verified.
            match &self.fault {
                None | Some(CodingError::Unverified(_)) => self.fault = Some(fault),
                Some(_) => {}
            }
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
        Self::of(input.len())
    }

    /// So many bytes of input were used up, and there is no more output.
    fn of(read: usize) -> Self {
        Self {
            read,
            has_more: false,
        }
    }
}

impl Coding {
    /// The coding of this name; `None` for the names of "no coding", and for those that are no
    /// coding.
    fn named(name: &str) -> Result<Option<Self>, CodingError> {
        let state = CodingState::Empty;
        Ok(Some(match name {
            "gzip" | "x-gzip" => Self::Inflate(Inflater::gzip()),
            "deflate" => Self::Inflate(Inflater::deflate()),
            "br" => Self::Brotli {
                stream: new_brotli(),
                state,
            },
            "zstd" => Self::Zstd {
                stream: new_zstd()?,
                state,
            },
            _ => return Ok(None),
        }))
    }

    /// Decodes some of the input, at most about [`STEP_BYTES`] of output.
    fn decode(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Progress, CodingError> {
        match self {
            Self::Inflate(inflater) => inflater.decode(input, output),
            Self::Brotli { stream, state } => decode_brotli(stream, state, input, output),
            Self::Zstd { stream, state } => decode_zstd(stream, state, input, output),
        }
    }

    fn finish(&self) -> Result<(), CodingError> {
        let (name, state) = match self {
            Self::Inflate(inflater) => return inflater.finish(),
            Self::Brotli { state, .. } => ("br", *state),
            Self::Zstd { state, .. } => ("zstd", *state),
        };
        match state {
            CodingState::Inside => Err(CodingError::Truncated(name)),
            CodingState::Empty | CodingState::Complete => Ok(()),
        }
    }
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
    state: &mut CodingState,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Progress, CodingError> {
    if *state == CodingState::Complete {
        return Ok(Progress::all(input));
    }
    *state = CodingState::Inside;
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
            *state = CodingState::Complete;
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
    state: &mut CodingState,
    input: &[u8],
    output: &mut Vec<u8>,
) -> Result<Progress, CodingError> {
    output.resize(STEP_BYTES, 0);
    let step = stream
        .run_on_buffers(input, output)
        .map_err(|_| CodingError::Corrupt("zstd"))?;
    output.truncate(step.bytes_written);
    *state = match step.remaining {
        0 => CodingState::Complete,
        _ => CodingState::Inside,
    };
    // The buffer may be full at the very end of a frame: another call would start a new frame.
    let is_end = step.bytes_read == input.len() && *state == CodingState::Complete;
    Ok(Progress {
        read: step.bytes_read,
        has_more: step.bytes_written == STEP_BYTES && !is_end,
    })
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
