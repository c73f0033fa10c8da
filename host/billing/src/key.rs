//! API keys and identifiers: random, from the operating system.

use zeroize::Zeroizing;

use super::BillingError;
use trawl_model::secret::Secret;
use trawl_store::AccountId;

/// What every key begins with.
const KEY_PREFIX: &str = "tr_";
/// Letters and digits of a key: as many as 32 random bytes need (43 times log2 of 62 is 256).
const KEY_LENGTH: usize = 43;
/// Characters of a key that lists show. The hidden rest still has 208 random bits.
const SHOWN_LENGTH: usize = 11;
const ID_LENGTH: usize = 16;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new API key.
pub(super) fn new_account_key() -> Result<Secret, BillingError> {
    new_key(KEY_PREFIX)
}

/// A new key that begins with `prefix`: 256 random bits.
///
/// # Errors
/// [`BillingError::Random`]: the operating system gives no random numbers.
pub fn new_key(prefix: &str) -> Result<Secret, BillingError> {
    let random = random_text(KEY_LENGTH)?;
    Ok(Secret::new(format!("{prefix}{}", random.as_str())))
}

/// A new account identifier.
pub(super) fn new_account_id() -> Result<AccountId, BillingError> {
    let random = random_text(ID_LENGTH)?;
    Ok(AccountId::new(format!(
        "{}{}",
        AccountId::PREFIX,
        random.as_str()
    )))
}

/// Random letters and digits, unique without asking anyone.
pub(super) fn unique() -> Result<String, BillingError> {
    Ok(random_text(ID_LENGTH)?.to_string())
}

/// What a list shows of a key.
pub(super) fn shown(key: &Secret) -> String {
    key.expose().chars().take(SHOWN_LENGTH).collect()
}

/// What a list shows of a key of which so much was sent, or more.
pub(super) fn prefix(sent: &str) -> &str {
    let end = sent.char_indices().nth(SHOWN_LENGTH);
    end.map_or(sent, |(end, _)| &sent[..end])
}

/// What is kept of a key. It has 256 random bits, so a plain hash cannot be turned round.
pub(super) fn hash(key: &str) -> [u8; 32] {
    *blake3::hash(key.as_bytes()).as_bytes()
}

/// Letters and digits, each equally likely: bytes beyond the largest multiple of 62 are thrown away.
fn random_text(length: usize) -> Result<Zeroizing<String>, BillingError> {
    const FAIR: u8 = 248;
    let mut text = Zeroizing::new(String::with_capacity(length));
    let mut random = Zeroizing::new([0_u8; 64]);
    while text.len() < length {
        getrandom::fill(random.as_mut_slice()).map_err(BillingError::Random)?;
        let fair = random.iter().filter(|byte| **byte < FAIR);
        let letters = fair.map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        let missing = length - text.len();
        text.extend(letters.take(missing));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_letters_and_digits_and_new_each_time() {
        let key = new_account_key().expect("random bytes");
        let (prefix, rest) = key.expose().split_at(KEY_PREFIX.len());
        assert_eq!((prefix, rest.len()), (KEY_PREFIX, KEY_LENGTH));
        assert!(rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(key, new_account_key().expect("random bytes"));
        assert!(key.expose().starts_with(&shown(&key)));
    }
}
