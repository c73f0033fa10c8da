//! API keys and identifiers, from the operating system's random number generator.

use zeroize::Zeroizing;

use trawl_model::secret::Secret;
use trawl_store::AccountId;

use crate::error::BillingError;

/// Prefix of every API key.
const KEY_PREFIX: &str = "tr_";
/// Letters and digits of a key: 256 random bits (43 times log2 of 62).
const KEY_LENGTH: usize = 43;
/// Characters of a key that lists show. The rest still has 208 random bits.
const SHOWN_LENGTH: usize = 11;
const ID_LENGTH: usize = 16;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Generates an API key.
pub(crate) fn new_account_key() -> Result<Secret, BillingError> {
    new_key(KEY_PREFIX)
}

/// Generates a key that starts with `prefix` and has 256 random bits.
///
/// # Errors
/// [`BillingError::Random`] if the operating system's random number generator fails.
pub fn new_key(prefix: &str) -> Result<Secret, BillingError> {
    let random = random_text(KEY_LENGTH)?;
    Ok(Secret::new(format!("{prefix}{}", random.as_str())))
}

/// Generates an account identifier.
pub(crate) fn new_account_id() -> Result<AccountId, BillingError> {
    let random = random_text(ID_LENGTH)?;
    Ok(AccountId::new(format!(
        "{}{}",
        AccountId::PREFIX,
        random.as_str()
    )))
}

/// A unique identifier: random letters and digits.
pub(crate) fn unique() -> Result<String, BillingError> {
    Ok(random_text(ID_LENGTH)?.to_string())
}

/// The part of a key that lists show.
pub(crate) fn shown(key: &Secret) -> String {
    key.expose().chars().take(SHOWN_LENGTH).collect()
}

/// The part of a sent key, or of its prefix, that lists show.
pub fn prefix(sent: &str) -> &str {
    let end = sent.char_indices().nth(SHOWN_LENGTH);
    end.map_or(sent, |(end, _)| &sent[..end])
}

/// The stored hash of a key. With 256 random bits, a plain hash cannot be reversed by guessing.
pub(crate) fn hash(key: &str) -> [u8; 32] {
    *blake3::hash(key.as_bytes()).as_bytes()
}

/// Random letters and digits. Bytes from the largest multiple of 62 on are discarded, so that all
/// are equally likely.
fn random_text(length: usize) -> Result<Zeroizing<String>, BillingError> {
    const UNBIASED: u8 = 248;
    let mut text = Zeroizing::new(String::with_capacity(length));
    let mut random = Zeroizing::new([0_u8; 64]);
    while text.len() < length {
        getrandom::fill(random.as_mut_slice()).map_err(BillingError::Random)?;
        let unbiased = random.iter().filter(|byte| **byte < UNBIASED);
        let letters = unbiased.map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        let missing = length - text.len();
        text.extend(letters.take(missing));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_alphanumeric_and_unique() {
        let key = new_account_key().expect("random bytes");
        let (prefix, rest) = key.expose().split_at(KEY_PREFIX.len());
        assert_eq!((prefix, rest.len()), (KEY_PREFIX, KEY_LENGTH));
        assert!(rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(key, new_account_key().expect("random bytes"));
        assert!(key.expose().starts_with(&shown(&key)));
    }
}
