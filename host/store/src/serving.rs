//! The process that has a database, as others see it.

use trawl_model::secret::Secret;

/// What the key of a process is derived from, beside its number.
const KEY_CONTEXT: &str = "trawl: requests between the servers of one database";

/// Where the process that has a database serves, and the key of requests between it and others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// `IP:PORT` or `name:PORT`, as it has announced it.
    pub address: String,
    /// Only who reads the database knows it. It is another one for each process that has had it.
    pub key: Secret,
}

impl Serving {
    /// The process with this random number that has announced this address. `None` if it has not,
    /// or if its claim was ended: everyone knows the key of no number.
    pub(crate) fn of(address: Option<String>, nonce: &[u8]) -> Option<Self> {
        let address = address.filter(|_| !nonce.is_empty())?;
        let key = key_of(nonce);
        Some(Self { address, key })
    }
}

/// The key of the process with this random number.
pub(crate) fn key_of(nonce: &[u8]) -> Secret {
    let key = blake3::derive_key(KEY_CONTEXT, nonce);
    Secret::new(blake3::Hash::from_bytes(key).to_hex().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_of_one_process_and_says_nothing_of_its_number() {
        let key = key_of(&[7; 16]);
        assert_eq!(key, key_of(&[7; 16]));
        assert_ne!(key, key_of(&[8; 16]));
        assert_eq!(key.expose().len(), 64);
        assert!(!key.expose().contains("0707"));
        let address = || Some("10.0.0.5:8700".to_owned());
        let serving = Serving::of(address(), &[7; 16]).expect("a process");
        assert_eq!(serving.key, key);
        assert!(!format!("{serving:?}").contains(key.expose()));
        assert_eq!(Serving::of(address(), b""), None);
        assert_eq!(Serving::of(None, &[7; 16]), None);
    }
}
