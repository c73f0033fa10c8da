//! Signatures of events.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;

/// Value of `X-Trawl-Signature` for a body sent at this time. The key is the text of the secret as
/// bytes.
pub fn signature(secret: &Secret, at: Timestamp, body: &[u8]) -> String {
    let seconds = at.unix_seconds();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
        .expect("HMAC takes keys of any length");
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body);
    format!("t={seconds},v1={}", hex(&mac.finalize().into_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_match_openssl() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
        let made = signature(
            &Secret::new("whsec_test"),
            Timestamp(1_700_000_000_999),
            br#"{"a":1}"#,
        );
        let (time, mac) = made.split_once(",v1=").expect("both parts");
        assert_eq!(time, "t=1700000000");
        assert_eq!(
            mac,
            "38877139021993b830af32feea6e18a8da83eb2f6e49ee50bd9e4cf4ca4d3789"
        );
    }
}
