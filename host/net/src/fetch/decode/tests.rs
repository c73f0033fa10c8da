use std::io::{Read, Write};

use http::HeaderValue;

use super::*;

const TEXT: &[u8] = b"It was a bright cold day in April, and the clocks were striking thirteen. ";

fn text() -> Vec<u8> {
    TEXT.repeat(3000)
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let level = flate2::Compression::default();
    flate2::read::GzEncoder::new(bytes, level)
        .read_to_end(&mut encoded)
        .expect("memory to memory");
    encoded
}

pub(super) fn deflate(bytes: &[u8], is_zlib: bool) -> Vec<u8> {
    let mut encoded = Vec::new();
    let level = flate2::Compression::default();
    if is_zlib {
        flate2::read::ZlibEncoder::new(bytes, level).read_to_end(&mut encoded)
    } else {
        flate2::read::DeflateEncoder::new(bytes, level).read_to_end(&mut encoded)
    }
    .expect("memory to memory");
    encoded
}

pub(super) fn br(bytes: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    brotli::CompressorReader::new(bytes, 4096, 5, 22)
        .read_to_end(&mut encoded)
        .expect("memory to memory");
    encoded
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("memory to memory")
}

pub(super) fn decode_in(
    pieces: usize,
    coding: &str,
    encoded: &[u8],
    max: usize,
) -> Result<Vec<u8>, CodingError> {
    let mut headers = HeaderMap::new();
    headers.insert(
        CONTENT_ENCODING,
        HeaderValue::from_str(coding).expect("a header value"),
    );
    let mut decoder = Decoder::new(&headers, max)?;
    let mut body = Vec::new();
    for piece in encoded.chunks(pieces) {
        if decoder.is_identity() {
            append(&mut body, piece, max)?;
        } else {
            decoder.push(Bytes::copy_from_slice(piece));
            drain(&mut decoder, &mut body, max)?;
        }
    }
    decoder.end();
    drain(&mut decoder, &mut body, max)?;
    Ok(body)
}

fn drain(decoder: &mut Decoder, body: &mut Vec<u8>, max: usize) -> Result<(), CodingError> {
    loop {
        match decoder.step()? {
            Step::Emitted(bytes) => {
                assert!(bytes.len() <= 4 * STEP_BYTES, "{}", bytes.len());
                append(body, bytes, max)?;
            }
            Step::Working => {}
            Step::Idle => return Ok(()),
        }
    }
}

fn append(body: &mut Vec<u8>, bytes: &[u8], max: usize) -> Result<(), CodingError> {
    if body.len() + bytes.len() > max {
        return Err(CodingError::TooLarge(max));
    }
    body.extend_from_slice(bytes);
    Ok(())
}

fn decode(coding: &str, encoded: &[u8]) -> Result<Vec<u8>, CodingError> {
    decode_in(1000, coding, encoded, 1 << 20)
}

fn every_coding() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("gzip", gzip(&text())),
        ("x-gzip", gzip(&text())),
        ("GZip", gzip(&text())),
        ("deflate", deflate(&text(), true)),
        ("deflate", deflate(&text(), false)),
        ("br", br(&text())),
        ("zstd", zstd(&text())),
        ("identity", text()),
        ("gzip, br", br(&gzip(&text()))),
        ("br,zstd,gzip", gzip(&zstd(&br(&text())))),
        ("identity, deflate, ", deflate(&text(), true)),
    ]
}

#[test]
fn every_coding_and_chain_is_decoded_in_pieces_of_any_size() {
    for (coding, encoded) in every_coding() {
        for pieces in [1, 2, 7, 1000, usize::MAX] {
            let decoded = decode_in(pieces, coding, &encoded, 1 << 20);
            assert!(decoded == Ok(text()), "{coding} in {pieces}");
        }
    }
}

#[test]
fn a_truncated_body_is_an_error_and_never_a_shorter_page() {
    for (coding, encoded) in every_coding() {
        if coding == "identity" {
            continue;
        }
        for cut in [1, encoded.len() / 2, encoded.len() - 9] {
            let decoded = decode(coding, &encoded[..cut]);
            assert!(
                matches!(decoded, Err(CodingError::Truncated(_))),
                "{coding} at {cut}: {:?}",
                decoded.map(|body| body.len())
            );
        }
        assert_eq!(decode(coding, b""), Ok(Vec::new()), "{coding}");
    }
}

#[test]
fn bytes_that_are_not_what_the_header_says_are_an_error() {
    for coding in ["gzip", "br", "zstd", "deflate"] {
        let decoded = decode(
            coding,
            b"<html><body>not compressed at all, whatever it says</body></html>",
        );
        assert!(
            matches!(
                decoded,
                Err(CodingError::Corrupt(_) | CodingError::Truncated(_))
            ),
            "{coding}: {decoded:?}"
        );
    }
}

/// The data are whole, and what is missing behind them is a checksum.
#[test]
fn a_body_without_a_valid_checksum_is_whole() {
    let damaged = |mut encoded: Vec<u8>, from_end: usize| {
        let at = encoded.len() - from_end;
        encoded[at] ^= 1;
        encoded
    };
    let cut = |encoded: Vec<u8>, n_bytes: usize| encoded[..encoded.len() - n_bytes].to_vec();
    let (gzipped, zlib) = (gzip(&text()), deflate(&text(), true));
    for (coding, encoded) in [
        ("gzip", cut(gzipped.clone(), 8)),
        ("gzip", cut(gzipped.clone(), 1)),
        ("gzip", damaged(gzipped.clone(), 6)),
        ("gzip", damaged(gzipped.clone(), 1)),
        ("deflate", cut(zlib.clone(), 4)),
        ("deflate", cut(zlib.clone(), 1)),
        ("deflate", damaged(zlib.clone(), 4)),
        ("gzip, deflate", cut(deflate(&gzipped, true), 2)),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
        let mut decoder = Decoder::new(&headers, 1 << 20).expect("codings");
        let mut body = Vec::new();
        decoder.push(encoded.into());
        drain(&mut decoder, &mut body, 1 << 20).expect("sound data");
        decoder.end();
        let end = drain(&mut decoder, &mut body, 1 << 20);
        assert!(
            matches!(end, Err(CodingError::Unverified(_))),
            "{coding}: {end:?}"
        );
        assert!(body == text(), "{coding}");
    }
    // A wrong checksum does not excuse data that break off.
    let both = deflate(&cut(gzipped, 100), true);
    let both = decode("gzip, deflate", &cut(both, 1));
    assert_eq!(both, Err(CodingError::Truncated("gzip")));
}

#[test]
fn all_parts_of_a_gzip_header_are_skipped() {
    let whole = gzip(TEXT);
    let mut encoded = whole[..10].to_vec();
    encoded[3] = 0x1f;
    encoded.extend(b"\x03\0abcname\0comment\0\x12\x34");
    encoded.extend(&whole[10..]);
    for pieces in [1, 3, 1000] {
        assert_eq!(
            decode_in(pieces, "gzip", &encoded, 100).as_deref(),
            Ok(TEXT)
        );
    }
    encoded[3] = 0x3f;
    assert_eq!(decode("gzip", &encoded), Err(CodingError::Corrupt("gzip")));
    encoded[..4].copy_from_slice(&[0x1f, 0x8b, 7, 0]);
    assert_eq!(decode("gzip", &encoded), Err(CodingError::Corrupt("gzip")));
    // Behind a whole member, it is padding.
    let padded = [whole, b"\x1f and more".to_vec()].concat();
    assert_eq!(decode("gzip", &padded).as_deref(), Ok(TEXT));
}

/// Names that servers write at bodies which they send as they are.
#[test]
fn names_that_are_no_coding_change_nothing() {
    for name in [
        "compress",
        "UTF-8",
        "binary",
        "text/html",
        "none",
        "aws-chunked",
        "",
        "\"br\"",
    ] {
        assert_eq!(decode(name, TEXT).as_deref(), Ok(TEXT), "{name}");
    }
    assert_eq!(
        decode("aws-chunked, gzip", &gzip(TEXT)).as_deref(),
        Ok(TEXT)
    );
    assert_eq!(decode("gzip, utf-8", &gzip(TEXT)).as_deref(), Ok(TEXT));
}

#[test]
fn too_many_codings_are_refused() {
    assert_eq!(
        decode("gzip,gzip,gzip,gzip", b"x"),
        Err(CodingError::TooMany)
    );
}

#[test]
fn decompression_bombs_end_at_the_limit() {
    const MAX: usize = 1 << 20;
    let zeros = vec![0; 8 << 20];
    let bombs = [
        ("gzip", gzip(&zeros)),
        ("deflate", deflate(&zeros, true)),
        ("br", br(&zeros)),
        ("zstd", zstd(&zeros)),
        ("gzip, gzip", gzip(&gzip(&zeros))),
        ("zstd, br, gzip", gzip(&br(&zstd(&zeros)))),
    ];
    for (coding, bomb) in bombs {
        assert_eq!(
            decode_in(4096, coding, &bomb, MAX),
            Err(CodingError::TooLarge(MAX)),
            "{coding}"
        );
    }
    let plain = decode_in(4096, "identity", &zeros[..MAX + 1], MAX);
    assert_eq!(plain, Err(CodingError::TooLarge(MAX)));
    assert_eq!(
        decode_in(4096, "gzip", &gzip(&zeros[..MAX]), MAX).map(|body| body.len()),
        Ok(MAX)
    );
}

#[test]
fn a_zstd_window_beyond_what_the_web_allows_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(27).expect("a window");
    encoder.write_all(&text()).expect("memory to memory");
    let encoded = encoder.finish().expect("memory to memory");
    assert_eq!(decode("zstd", &encoded), Err(CodingError::Corrupt("zstd")));
}

#[test]
fn several_members_are_one_body_and_padding_after_them_is_dropped() {
    let mut encoded = gzip(b"one ");
    encoded.extend(gzip(b"two"));
    encoded.extend([0; 100]);
    for pieces in [1, 50, 1000] {
        let decoded = decode_in(pieces, "gzip", &encoded, 100);
        assert_eq!(decoded, Ok(b"one two".to_vec()));
    }
    let mut frames = zstd(b"one ");
    frames.extend(zstd(b"two"));
    assert_eq!(decode("zstd", &frames), Ok(b"one two".to_vec()));
}

/// Deflate blocks without content: five bytes each, and nothing comes out.
fn empty_blocks(bytes: usize) -> Vec<u8> {
    let mut blocks = [0, 0, 0, 0xff, 0xff].repeat(bytes / 5);
    blocks.extend([1, 0, 0, 0xff, 0xff]);
    blocks
}

#[test]
fn what_an_outer_coding_emits_is_bounded_although_the_body_stays_empty() {
    const MAX: usize = 1 << 20;
    let blocks = empty_blocks(8 << 20);
    assert_eq!(
        decode_in(4096, "deflate", &blocks[..MAX], MAX),
        Err(CodingError::Truncated("deflate"))
    );
    let bombs = [
        ("deflate, gzip", gzip(&blocks)),
        ("deflate, zstd", zstd(&blocks)),
        ("deflate, br", br(&blocks)),
        ("deflate, gzip, gzip", gzip(&gzip(&blocks))),
    ];
    for (coding, bomb) in bombs {
        assert_eq!(
            decode_in(64 << 10, coding, &bomb, MAX),
            Err(CodingError::TooLarge(MAX)),
            "{coding}"
        );
    }
}

#[test]
fn a_step_of_a_bomb_is_short_and_says_when_nothing_comes_out() {
    let bomb = gzip(&empty_blocks(8 << 20));
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("deflate, gzip"));
    let mut decoder = Decoder::new(&headers, 64 << 20).expect("two codings");
    decoder.push(bomb.into());
    let mut n_steps = 0;
    while !matches!(decoder.step(), Ok(Step::Idle)) {
        n_steps += 1;
    }
    assert!(n_steps >= (8 << 20) / (4 * STEP_BYTES), "{n_steps} steps");
}

#[test]
fn gzip_members_without_output_are_counted() {
    let mut members = gzip(b"").repeat(MEMBERS_MAX);
    assert_eq!(decode_in(4096, "gzip", &members, 100), Ok(Vec::new()));
    members.extend(gzip(b"one too many"));
    assert_eq!(
        decode_in(4096, "gzip", &members, 100),
        Err(CodingError::TooManyMembers)
    );
}

#[test]
fn padding_that_begins_like_a_member_is_dropped_in_pieces_of_any_size() {
    let padded = [gzip(TEXT), b"\0\x1f\x8b and more".to_vec()].concat();
    for pieces in 1..padded.len() + 1 {
        let decoded = decode_in(pieces, "gzip", &padded, 1 << 20);
        assert_eq!(decoded.as_deref(), Ok(TEXT), "in pieces of {pieces}");
    }
}
