//! Signatures of events.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_store::SigningSecrets;

/// What a secret begins with; its key as base64 follows.
const SECRET_PREFIX: &str = "whsec_";

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

/// Value of `webhook-signature` for an event sent at this time, as Standard Webhooks 1.0.0 has it:
/// `v1,<base64>` for each secret, the current one first, with a space between them. It signs
/// `<id>.<seconds>.<body>`. The key is what the secret has after `whsec_`, as base64: 48 bytes.
pub fn standard_signature(
    secrets: &SigningSecrets,
    id: &str,
    at: Timestamp,
    body: &[u8],
) -> String {
    let head = format!("{id}.{}.", at.unix_seconds());
    let all = std::iter::once(&secrets.current).chain(&secrets.previous);
    let signatures = all.map(|secret| {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&key(secret)).expect("HMAC takes keys of any length");
        mac.update(head.as_bytes());
        mac.update(body);
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    });
    signatures.collect::<Vec<_>>().join(" ")
}

/// The key of a secret, as the libraries of Standard Webhooks read it: 64 hexadecimal digits are
/// base64, too. A text that is not base64 is itself the key.
fn key(secret: &Secret) -> Vec<u8> {
    let text = secret.expose();
    let encoded = text.strip_prefix(SECRET_PREFIX).unwrap_or(text);
    let decoded = BASE64_STANDARD.decode(encoded);
    decoded.unwrap_or_else(|_| text.as_bytes().to_vec())
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
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: Timestamp = Timestamp(1_614_265_330_500);
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    /// The example secret of the libraries of Standard Webhooks.
    const EXAMPLE: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const OF_EXAMPLE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    #[test]
    fn standard_signatures_match_the_libraries() {
        let secrets = SigningSecrets {
            current: Secret::new(EXAMPLE),
            previous: None,
        };
        assert_eq!(standard_signature(&secrets, ID, AT, BODY), OF_EXAMPLE);
    }

    #[test]
    fn both_secrets_of_a_rotation_sign() {
        // Secrets are made of hexadecimal digits.
        let digits = "00112233445566778899aabbccddeeff".repeat(2);
        let secrets = SigningSecrets {
            current: Secret::new(format!("whsec_{digits}")),
            previous: Some(Secret::new(EXAMPLE)),
        };
        let made = standard_signature(&secrets, ID, AT, BODY);
        let of_digits = "v1,o5jHnIXpLvhmKE9ZazxSiD1gmAqw9pIaEh7TWAB8Kig=";
        assert_eq!(made, format!("{of_digits} {OF_EXAMPLE}"));
    }
}
