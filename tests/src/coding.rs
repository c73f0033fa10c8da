//! Bodies in HTTP content codings.

use std::io::Read;
use std::sync::OnceLock;

/// Zeros in one member of the gzip bomb, and the number of members: 1 GiB from about 1 MiB.
const BOMB_MEMBER_BYTES: usize = 16 << 20;
const BOMB_MEMBERS: usize = 64;

/// Applies codings in this order, the order of a `Content-Encoding` header. `raw-deflate` is
/// deflate without the zlib wrapper.
///
/// # Panics
/// When a coding is unknown.
pub fn encoded(codings: &str, body: &[u8]) -> Vec<u8> {
    codings.split(',').fold(body.to_vec(), |body, coding| {
        let mut encoded = Vec::new();
        let level = flate2::Compression::default();
        let body = body.as_slice();
        match coding {
            "gzip" => flate2::read::GzEncoder::new(body, level).read_to_end(&mut encoded),
            "deflate" => flate2::read::ZlibEncoder::new(body, level).read_to_end(&mut encoded),
            "raw-deflate" => {
                flate2::read::DeflateEncoder::new(body, level).read_to_end(&mut encoded)
            }
            "br" => brotli::CompressorReader::new(body, 4096, 3, 22).read_to_end(&mut encoded),
            "zstd" => zstd::Encoder::new(&mut encoded, 1)
                .and_then(|mut encoder| {
                    std::io::copy(&mut &*body, &mut encoder).and_then(|_| encoder.finish())
                })
                .map(|_| 0),
            other => panic!("coding `{other}` is not known"),
        }
        .expect("memory to memory");
        encoded
    })
}

/// A gzip body with many members that decodes to 1 GiB of zeros.
pub fn gzip_bomb() -> Vec<u8> {
    encoded("gzip", &vec![0; BOMB_MEMBER_BYTES]).repeat(BOMB_MEMBERS)
}

/// 63 MiB of zeros in gzip, without the last bytes.
pub fn stalled_body() -> &'static [u8] {
    static BODY: OnceLock<Vec<u8>> = OnceLock::new();
    BODY.get_or_init(|| {
        let mut body = encoded("gzip", &vec![0; 63 << 20]);
        body.truncate(body.len() - 8);
        body
    })
}
