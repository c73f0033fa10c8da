//! Deflate in its frames: gzip (RFC 1952), zlib (RFC 1950) and none (RFC 1951). The frame is read
//! here to distinguish complete data from truncated data: servers leave the checksum out, or send a
//! wrong one, behind a complete page.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{CodingError, MEMBERS_MAX, Progress, STEP_BYTES};

/// Bytes that [`Adler`] sums up before it must reduce them.
const ADLER_RUN: usize = 5552;
const ADLER_MODULUS: u32 = 65_521;

/// Decodes one body.
pub(super) struct Inflater {
    /// The name of the coding.
    name: &'static str,
    part: Part,
    /// Gzip members that have begun.
    n_members: usize,
    /// Whether a checksum is wrong.
    is_unverified: bool,
}

/// The part of a member that comes next.
enum Part {
    GzipHead(GzipHead),
    /// The first two bytes distinguish the zlib format, which the standard requires, from the raw
    /// stream that some servers send.
    DeflateHead(Option<u8>),
    Data(Box<Data>),
    /// What is there of the checksum, and the bytes that it should be.
    Trailer(Vec<u8>, Vec<u8>),
    /// Behind a gzip member, where another one may follow.
    Between,
    /// Behind the end, where everything is dropped.
    Padding,
}

/// A deflate stream and the checksum of what it emits.
struct Data {
    stream: Decompress,
    sum: Sum,
}

enum Sum {
    Gzip(Crc),
    Zlib(Adler),
    None,
}

/// The checksum of RFC 1950.
struct Adler(u32, u32);

/// Reads the header of a gzip member. RFC 1952 section 2.3.
struct GzipHead {
    step: HeadStep,
    /// Flags of the parts that are still to come.
    flags: u8,
    is_begun: bool,
}

enum HeadStep {
    /// So many bytes of the first ten are read.
    Fixed(u8),
    ExtraLength(Option<u8>),
    Extra(u16),
    Text,
    /// So many bytes of its checksum are to come.
    Sum(u8),
    Done,
}

impl Inflater {
    pub(super) fn gzip() -> Self {
        Self::new("gzip", Part::GzipHead(GzipHead::new()))
    }

    pub(super) fn deflate() -> Self {
        Self::new("deflate", Part::DeflateHead(None))
    }

    fn new(name: &'static str, part: Part) -> Self {
        Self {
            name,
            part,
            n_members: 1,
            is_unverified: false,
        }
    }

    /// Decodes some of the input, at most about [`STEP_BYTES`] of output.
    pub(super) fn decode(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Progress, CodingError> {
        match &mut self.part {
            Part::GzipHead(head) => {
                let Some(read) = head.read(input) else {
                    return self.no_member(input);
                };
                if matches!(head.step, HeadStep::Done) {
                    self.begin(Sum::Gzip(Crc::new()));
                }
                Ok(Progress::of(read))
            }
            Part::DeflateHead(first) => {
                let Some((&byte, _)) = input.split_first() else {
                    return Ok(Progress::of(0));
                };
                match *first {
                    None => *first = Some(byte),
                    Some(first) => self.begin_deflate([first, byte], output)?,
                }
                Ok(Progress::of(1))
            }
            Part::Data(_) => self.inflate(input, output),
            Part::Trailer(found, expected) => {
                let read = input.len().min(expected.len() - found.len());
                found.extend_from_slice(&input[..read]);
                if found.len() == expected.len() {
                    self.is_unverified |= found != expected;
                    self.part = match self.name {
                        "gzip" => Part::Between,
                        _ => Part::Padding,
                    };
                }
                Ok(Progress::of(read))
            }
            // Another member may follow; anything else after the end is padding, which browsers
            // ignore.
            Part::Between => {
                if input.first() != Some(&0x1f) {
                    self.part = Part::Padding;
                } else if self.n_members == MEMBERS_MAX {
                    return Err(CodingError::TooManyMembers);
                } else {
                    self.n_members += 1;
                    self.part = Part::GzipHead(GzipHead::new());
                }
                Ok(Progress::of(0))
            }
            // Extends to the end, whatever its content and the pieces it arrives in.
            Part::Padding => Ok(Progress::all(input)),
        }
    }

    /// How the body ends.
    ///
    /// # Errors
    /// [`CodingError::Truncated`] in the middle of the data, [`CodingError::Unverified`] when they
    /// are whole, but without a checksum or with a wrong one.
    pub(super) fn finish(&self) -> Result<(), CodingError> {
        match &self.part {
            // An empty body is empty in every coding.
            Part::GzipHead(head) if !head.is_begun && self.n_members == 1 => Ok(()),
            Part::DeflateHead(None) => Ok(()),
            Part::GzipHead(_) | Part::DeflateHead(_) | Part::Data(_) => {
                Err(CodingError::Truncated(self.name))
            }
            Part::Trailer(..) => Err(CodingError::Unverified(self.name)),
            Part::Between | Part::Padding if self.is_unverified => {
                Err(CodingError::Unverified(self.name))
            }
            Part::Between | Part::Padding => Ok(()),
        }
    }

    /// These bytes are not a gzip header: padding, if they are not the first.
    fn no_member(&mut self, input: &[u8]) -> Result<Progress, CodingError> {
        if self.n_members == 1 {
            return Err(CodingError::Corrupt(self.name));
        }
        self.part = Part::Padding;
        Ok(Progress::all(input))
    }

    fn begin(&mut self, sum: Sum) {
        let stream = Decompress::new(false);
        self.part = Part::Data(Box::new(Data { stream, sum }));
    }

    fn begin_deflate(&mut self, head: [u8; 2], output: &mut Vec<u8>) -> Result<(), CodingError> {
        if !is_zlib(head) {
            self.begin(Sum::None);
            self.inflate(&head, output)?;
            return Ok(());
        }
        // A preset dictionary, which was not agreed on.
        if head[1] & 0x20 != 0 {
            return Err(CodingError::Corrupt(self.name));
        }
        self.begin(Sum::Zlib(Adler(1, 0)));
        Ok(())
    }

    fn inflate(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<Progress, CodingError> {
        let Part::Data(data) = &mut self.part else {
            return Ok(Progress::all(input));
        };
        let (before, start) = (data.stream.total_in(), output.len());
        output.reserve(STEP_BYTES);
        let status = data
            .stream
            .decompress_vec(input, output, FlushDecompress::None)
            .map_err(|_| CodingError::Corrupt(self.name))?;
        let read = (data.stream.total_in() - before) as usize;
        let emitted = &output[start..];
        data.sum.update(emitted);
        if status == Status::StreamEnd {
            self.part = match data.sum.trailer(data.stream.total_out()) {
                Some(expected) => Part::Trailer(Vec::new(), expected),
                None => Part::Padding,
            };
            return Ok(Progress::of(read));
        }
        if read == 0 && emitted.is_empty() {
            return Ok(Progress::all(input));
        }
        // A call may flush its window and leave the input for the next one, so only a call without
        // any progress is the last.
        Ok(Progress {
            read,
            has_more: !emitted.is_empty(),
        })
    }
}

/// RFC 1950 section 2.2: method 8, and a header that is a multiple of 31.
fn is_zlib(head: [u8; 2]) -> bool {
    head[0] & 0x0f == 8 && u16::from_be_bytes(head).is_multiple_of(31)
}

impl Sum {
    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Gzip(crc) => crc.update(bytes),
            Self::Zlib(adler) => adler.update(bytes),
            Self::None => {}
        }
    }

    /// The bytes that follow data of this length in its frame.
    fn trailer(&self, length: u64) -> Option<Vec<u8>> {
        match self {
            Self::Gzip(crc) => {
                let sum = crc.sum().to_le_bytes();
                let length = length.to_le_bytes();
                Some([&sum[..], &length[..4]].concat())
            }
            Self::Zlib(adler) => Some(((adler.1 << 16) | adler.0).to_be_bytes().to_vec()),
            Self::None => None,
        }
    }
}

impl Adler {
    fn update(&mut self, bytes: &[u8]) {
        for run in bytes.chunks(ADLER_RUN) {
            for byte in run {
                self.0 += u32::from(*byte);
                self.1 += self.0;
            }
            self.0 %= ADLER_MODULUS;
            self.1 %= ADLER_MODULUS;
        }
    }
}

impl GzipHead {
    const CHECKED: u8 = 0x02;
    const EXTRA: u8 = 0x04;
    const NAME: u8 = 0x08;
    const COMMENT: u8 = 0x10;
    const RESERVED: u8 = 0xe0;

    fn new() -> Self {
        Self {
            step: HeadStep::Fixed(0),
            flags: 0,
            is_begun: false,
        }
    }

    /// Reads as much of the header as there is and returns its length; `None` if it is none.
    fn read(&mut self, input: &[u8]) -> Option<usize> {
        for (at, byte) in input.iter().enumerate() {
            if matches!(self.step, HeadStep::Done) {
                return Some(at);
            }
            self.is_begun = true;
            self.take(*byte)?;
        }
        Some(input.len())
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        match &mut self.step {
            HeadStep::Fixed(at) => {
                let is_valid = match at {
                    0 => byte == 0x1f,
                    1 => byte == 0x8b,
                    // Deflate is the only method there is.
                    2 => byte == 8,
                    3 => byte & Self::RESERVED == 0,
                    _ => true,
                };
                if *at == 3 {
                    self.flags = byte;
                }
                *at += 1;
                let is_last = *at == 10;
                if is_last {
                    self.advance();
                }
                return is_valid.then_some(());
            }
            HeadStep::ExtraLength(low @ None) => *low = Some(byte),
            HeadStep::ExtraLength(Some(low)) => match u16::from_le_bytes([*low, byte]) {
                0 => self.advance(),
                length => self.step = HeadStep::Extra(length),
            },
            HeadStep::Extra(1) | HeadStep::Sum(1) => self.advance(),
            HeadStep::Extra(left) => *left -= 1,
            HeadStep::Sum(left) => *left -= 1,
            HeadStep::Text if byte == 0 => self.advance(),
            HeadStep::Text | HeadStep::Done => {}
        }
        Some(())
    }

    /// Continues with the next part that the flags name.
    fn advance(&mut self) {
        let parts = [Self::EXTRA, Self::NAME, Self::COMMENT, Self::CHECKED];
        let next = parts.into_iter().find(|part| self.flags & part != 0);
        self.flags &= !next.unwrap_or_default();
        self.step = match next {
            Some(Self::EXTRA) => HeadStep::ExtraLength(None),
            Some(Self::NAME | Self::COMMENT) => HeadStep::Text,
            Some(_) => HeadStep::Sum(2),
            None => HeadStep::Done,
        };
    }
}
