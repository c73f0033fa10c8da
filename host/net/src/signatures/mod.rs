//! Signatures by which sites know this crawler: HTTP Message Signatures (RFC 9421) as Web Bot Auth
//! uses them (draft-meunier-web-bot-auth-architecture,
//! draft-meunier-http-message-signatures-directory).
//!
//! A signature says who sends a request to which host. It covers no path and no body, so that it is
//! made for each request anew and is good for minutes only.

mod key;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use trawl_model::clock::Clock;

pub use key::{BotKey, KeyError};

/// How long the signature of a request is good: clocks of sites may be slow or fast.
const REQUEST_AGE: Duration = Duration::from_secs(5 * 60);
/// How long the directory of keys may be cached, and its signature is good.
pub const DIRECTORY_AGE: Duration = Duration::from_secs(24 * 60 * 60);
const REQUEST_TAG: &str = "web-bot-auth";
const DIRECTORY_TAG: &str = "http-message-signatures-directory";
/// Random bytes of a nonce, as other implementations have them.
const NONCE_BYTES: usize = 64;

const SIGNATURE_AGENT: HeaderName = HeaderName::from_static("signature-agent");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// Signs requests.
#[derive(Debug)]
pub struct Signer {
    key: BotKey,
    /// The origin that serves the directory of keys: `https://bot.example.com`.
    agent: String,
    /// Its host and port.
    authority: String,
    clock: Clock,
}

/// The values of the two headers of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureFields {
    /// Value of `Signature-Input`.
    pub input: String,
    /// Value of `Signature`.
    pub signature: String,
}

/// The URL of a directory is no origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write the origin that serves the directory of keys, such as `https://bot.example.com`")]
pub struct NoOrigin;

impl Signer {
    /// Signs with this key, whose directory is served at this origin.
    ///
    /// # Errors
    /// The URL has another scheme than `http` and `https`, or more than an origin.
    pub fn new(key: BotKey, directory: &Url, clock: Clock) -> Result<Self, NoOrigin> {
        let agent = directory.origin().ascii_serialization();
        let is_origin = directory.as_str().strip_suffix('/') == Some(agent.as_str());
        if !is_origin || !matches!(directory.scheme(), "http" | "https") {
            return Err(NoOrigin);
        }
        Ok(Self {
            authority: authority(directory).ok_or(NoOrigin)?,
            key,
            agent,
            clock,
        })
    }

    /// The key.
    pub fn key(&self) -> &BotKey {
        &self.key
    }

    /// Adds a signature of its own to a request to this URL, unless it has one of the caller's.
    pub fn sign(&self, url: &Url, headers: &mut HeaderMap) {
        let names = [SIGNATURE_AGENT, SIGNATURE_INPUT, SIGNATURE];
        if names.iter().any(|name| headers.contains_key(name)) {
            return;
        }
        let (Some(authority), Some(nonce)) = (authority(url), nonce()) else {
            return;
        };
        let agent = format!("\"{}\"", self.agent);
        let fields = self.request(&authority, &agent, &nonce);
        for (name, value) in names
            .into_iter()
            .zip([agent, fields.input, fields.signature])
        {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }

    /// The signature of a request to this host with this `Signature-Agent`.
    fn request(&self, authority: &str, agent: &str, nonce: &str) -> SignatureFields {
        let covered = r#"("@authority" "signature-agent")"#;
        let lines = format!("\"@authority\": {authority}\n\"signature-agent\": {agent}");
        self.fields(
            &lines,
            self.parameters(covered, REQUEST_AGE, nonce, REQUEST_TAG),
        )
    }

    /// The directory of keys: JSON of the media type
    /// `application/http-message-signatures-directory+json`.
    pub fn directory(&self) -> String {
        format!(r#"{{"keys":[{}]}}"#, self.key.public_jwk())
    }

    /// A signature of the directory, by which its key and its host belong together. `None` if the
    /// system has no random numbers. It is always for the configured host: for any other one that a
    /// request names, that host could claim the key.
    pub fn sign_directory(&self) -> Option<SignatureFields> {
        let covered = r#"("@authority";req)"#;
        let lines = format!("\"@authority\";req: {}", self.authority);
        let parameters = self.parameters(covered, DIRECTORY_AGE, &nonce()?, DIRECTORY_TAG);
        Some(self.fields(&lines, parameters))
    }

    /// The parameters of a signature, with what it covers. RFC 9421 section 2.3.
    fn parameters(&self, covered: &str, age: Duration, nonce: &str, tag: &str) -> String {
        let (created, keyid) = (self.clock.now().unix_seconds(), self.key.thumbprint());
        let expires = created.saturating_add_unsigned(age.as_secs());
        format!(
            r#"{covered};created={created};expires={expires};keyid="{keyid}";alg="ed25519";nonce="{nonce}";tag="{tag}""#
        )
    }

    /// Signs the lines of what is covered. RFC 9421 section 2.5.
    fn fields(&self, lines: &str, parameters: String) -> SignatureFields {
        let base = format!("{lines}\n\"@signature-params\": {parameters}");
        let signature = STANDARD.encode(self.key.sign(&base));
        SignatureFields {
            input: format!("sig1={parameters}"),
            signature: format!("sig1=:{signature}:"),
        }
    }
}

/// The component `@authority`: the host in lower case, with a port that is not its scheme's. RFC
/// 9421 section 2.2.3.
fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// A random number in base64.
fn nonce() -> Option<String> {
    let mut bytes = [0; NONCE_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, UnparsedPublicKey};

    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use trawl_model::clock::Timestamp;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    fn signer() -> Signer {
        let key = BotKey::generate().expect("a key");
        let key = BotKey::read(&key).expect("a key");
        let clock = Clock::fake(Timestamp(1_735_689_600_000));
        Signer::new(key, &url("https://Bot.example:443/"), clock).expect("an origin")
    }

    /// Checks that `fields` are a signature of these lines.
    fn verify(signer: &Signer, lines: &str, fields: &SignatureFields) -> bool {
        let jwk: serde_json::Value =
            serde_json::from_str(&signer.key().public_jwk()).expect("JSON");
        let public = URL_SAFE_NO_PAD.decode(jwk["x"].as_str().expect("a key"));
        let public = UnparsedPublicKey::new(&ED25519, public.expect("base64"));
        let parameters = fields.input.strip_prefix("sig1=").expect("a label");
        let base = format!("{lines}\n\"@signature-params\": {parameters}");
        let signature = fields.signature.strip_prefix("sig1=:").expect("a label");
        let signature = STANDARD.decode(signature.strip_suffix(':').expect("its end"));
        let signature = signature.expect("base64");
        public.verify(base.as_bytes(), &signature).is_ok()
    }

    #[test]
    fn a_request_is_signed_for_its_host() {
        let signer = signer();
        let fields = signer.request("site.example:81", "\"https://bot.example\"", "abc=");
        let keyid = signer.key().thumbprint();
        let expected = format!(
            "sig1=(\"@authority\" \"signature-agent\");created=1735689600;expires=1735689900;\
             keyid=\"{keyid}\";alg=\"ed25519\";nonce=\"abc=\";tag=\"web-bot-auth\""
        );
        assert_eq!(fields.input, expected);
        let lines = "\"@authority\": site.example:81\n\"signature-agent\": \"https://bot.example\"";
        assert!(verify(&signer, lines, &fields));
        let other = lines.replace("site", "evil");
        assert!(!verify(&signer, &other, &fields));
    }

    #[test]
    fn each_request_has_a_signature_of_its_own() {
        let signer = signer();
        let signed = |url_text: &str| {
            let mut headers = HeaderMap::new();
            signer.sign(&url(url_text), &mut headers);
            let text = |name: HeaderName| headers[name].to_str().expect("text").to_owned();
            assert_eq!(text(SIGNATURE_AGENT), "\"https://bot.example\"");
            let fields = SignatureFields {
                input: text(SIGNATURE_INPUT),
                signature: text(SIGNATURE),
            };
            (headers.len(), fields)
        };
        let (n_headers, first) = signed("https://Site.example:443/a?b");
        assert_eq!(n_headers, 3);
        let lines = "\"@authority\": site.example\n\"signature-agent\": \"https://bot.example\"";
        assert!(verify(&signer, lines, &first));
        let (_, second) = signed("https://site.example/a?b");
        assert_ne!(first.input, second.input);
        assert!(verify(&signer, lines, &second));
        let mut headers = HeaderMap::new();
        headers.insert(SIGNATURE, HeaderValue::from_static("mine=:AA==:"));
        signer.sign(&url("https://site.example/"), &mut headers);
        assert_eq!(headers.len(), 1, "the caller signs it");
    }

    #[test]
    fn the_directory_is_signed_for_its_own_host() {
        let signer = signer();
        let directory: serde_json::Value = serde_json::from_str(&signer.directory()).expect("JSON");
        assert_eq!(directory["keys"][0]["kid"], signer.key().thumbprint());
        let fields = signer.sign_directory().expect("a signature");
        assert!(
            fields
                .input
                .contains("tag=\"http-message-signatures-directory\"")
        );
        assert!(
            fields.input.contains(";expires=1735776000;"),
            "{}",
            fields.input
        );
        assert!(verify(&signer, "\"@authority\";req: bot.example", &fields));
    }

    #[test]
    fn a_directory_is_served_at_an_origin() {
        for wrong in [
            "https://bot.example/keys",
            "https://bot.example/?a",
            "ftp://bot.example/",
            "mailto:bot@example.com",
            "https://user@bot.example/",
        ] {
            let key = BotKey::read(&BotKey::generate().expect("a key")).expect("a key");
            let refused = Signer::new(key, &url(wrong), Clock::wall());
            assert_eq!(refused.err(), Some(NoOrigin), "{wrong}");
        }
    }
}
