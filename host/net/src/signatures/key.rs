//! The key by which sites know this crawler.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair, Signature};
use zeroize::Zeroizing;

use trawl_model::secret::Secret;

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";
/// Characters of a line. RFC 7468 section 2.
const LINE_CHARS: usize = 64;

/// An Ed25519 key pair.
pub struct BotKey {
    pair: Ed25519KeyPair,
    public: String,
    thumbprint: String,
}

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is something else.
    #[error("it is no Ed25519 private key in PEM; make one with `trawl bot key FILE`")]
    NoKey,
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

impl BotKey {
    /// A new key as the text of its file: PKCS #8 in PEM (RFC 7468, RFC 8410), as `openssl` reads
    /// it.
    ///
    /// # Errors
    /// [`KeyError::NoRandomness`].
    pub fn generate() -> Result<Secret, KeyError> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let document = document.map_err(|_| KeyError::NoRandomness)?;
        let coded = Zeroizing::new(STANDARD.encode(document));
        // With enough room that it never grows: growing would leave an unwiped copy.
        let room = coded.len() * 2 + BEGIN.len() + END.len();
        let mut pem = Zeroizing::new(String::with_capacity(room));
        pem.push_str(BEGIN);
        pem.push('\n');
        let mut rest = coded.as_str();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(LINE_CHARS));
            pem.push_str(line);
            pem.push('\n');
            rest = after;
        }
        pem.push_str(END);
        pem.push('\n');
        Ok(Secret::new(pem.as_str()))
    }

    /// Reads the text of a key file, of [`Self::generate`] or of `openssl genpkey -algorithm
    /// ed25519`.
    ///
    /// # Errors
    /// [`KeyError::NoKey`].
    pub fn read(pem: &Secret) -> Result<Self, KeyError> {
        let text = pem.expose();
        let (_, body) = text.split_once(BEGIN).ok_or(KeyError::NoKey)?;
        let (body, _) = body.split_once(END).ok_or(KeyError::NoKey)?;
        let mut coded = Zeroizing::new(String::with_capacity(body.len()));
        coded.extend(body.chars().filter(|character| !character.is_whitespace()));
        let decoded = STANDARD.decode(coded.as_bytes());
        let document = Zeroizing::new(decoded.map_err(|_| KeyError::NoKey)?);
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&document);
        let pair = pair.map_err(|_| KeyError::NoKey)?;
        let public = URL_SAFE_NO_PAD.encode(pair.public_key());
        Ok(Self {
            thumbprint: thumbprint(&public),
            public,
            pair,
        })
    }

    /// Its thumbprint, by which sites find it. RFC 7638, RFC 8037 appendix A.3.
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// The public key as a JSON Web Key. RFC 8037 section 2.
    pub fn public_jwk(&self) -> String {
        let Self {
            public, thumbprint, ..
        } = self;
        format!(
            r#"{{"kty":"OKP","crv":"Ed25519","kid":"{thumbprint}","x":"{public}","use":"sig"}}"#
        )
    }

    pub(super) fn sign(&self, message: &str) -> Signature {
        self.pair.sign(message.as_bytes())
    }
}

/// The thumbprint of a public key: the hash of its required members in their order.
fn thumbprint(public: &str) -> String {
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{public}"}}"#);
    URL_SAFE_NO_PAD.encode(digest(&SHA256, members.as_bytes()))
}

impl fmt::Debug for BotKey {
    /// Only what sites may know.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BotKey")
            .field("thumbprint", &self.thumbprint)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test key of RFC 9421 appendix B.1.4, without the lines around it.
    const TEST_KEY: &str = "MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF";

    fn pem(body: &str) -> Secret {
        Secret::new(format!("{BEGIN}\n{body}\n{END}\n"))
    }

    #[test]
    fn the_test_key_of_the_standard_has_its_thumbprint() {
        let key = BotKey::read(&pem(TEST_KEY)).expect("a key");
        let jwk = key.public_jwk();
        assert!(
            jwk.contains("\"x\":\"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\""),
            "{jwk}"
        );
        let thumbprint = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";
        assert_eq!(key.thumbprint(), thumbprint);
        // RFC 8037 appendix A.3.
        let known = super::thumbprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        assert_eq!(known, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        let shown = format!("{key:?}");
        assert!(shown.contains(thumbprint) && shown.len() < 100, "{shown}");
    }

    #[test]
    fn a_new_key_is_read_again() {
        let made = BotKey::generate().expect("a key");
        let lines: Vec<&str> = made.expose().lines().collect();
        assert_eq!((lines[0], lines[lines.len() - 1]), (BEGIN, END));
        assert!(lines.iter().all(|line| line.len() <= LINE_CHARS));
        let read = BotKey::read(&made).expect("the same key");
        assert_eq!(read.thumbprint().len(), 43);
        let other = BotKey::generate().expect("a key");
        assert_ne!(
            BotKey::read(&other).expect("a key").thumbprint(),
            read.thumbprint()
        );
    }

    #[test]
    fn other_texts_are_no_keys() {
        let truncated = &TEST_KEY[..TEST_KEY.len() - 8];
        for wrong in [
            Secret::new(""),
            Secret::new(TEST_KEY),
            pem(""),
            pem("*"),
            pem(truncated),
        ] {
            assert_eq!(BotKey::read(&wrong).err(), Some(KeyError::NoKey));
        }
    }
}
