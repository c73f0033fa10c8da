//! What tokens cost. Integers with one rounding rule, as in billing.

use trawl_model::Nanodollars;

/// Bytes of a token if the server does not count: the average of common tokenizers for English
/// text.
const BYTES_PER_TOKEN: usize = 4;
/// Fewest bytes of a token over a whole question, for what must not be exceeded.
const BYTES_PER_TOKEN_LEAST: usize = 2;
/// Tokens that the form of a conversation adds.
const FORM_TOKENS: u64 = 64;
const TOKENS_PER_PRICE: u128 = 1_000_000;

/// Prices of a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenPrices {
    /// Of questions.
    pub question: Nanodollars,
    /// Of answers.
    pub answer: Nanodollars,
}

impl TokenPrices {
    /// The cost of so many tokens: half a nanodollar is rounded up; the result saturates.
    pub fn cost(&self, question_tokens: u64, answer_tokens: u64) -> Nanodollars {
        let part = |price: Nanodollars, tokens: u64| {
            u128::from(price.0.max(0).unsigned_abs()).saturating_mul(tokens.into())
        };
        let both =
            part(self.question, question_tokens).saturating_add(part(self.answer, answer_tokens));
        let rounded = both.saturating_add(TOKENS_PER_PRICE / 2) / TOKENS_PER_PRICE;
        Nanodollars(i64::try_from(rounded).unwrap_or(i64::MAX))
    }
}

/// Estimated tokens of a text of so many bytes.
pub(super) fn estimated(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

/// More tokens than a question of so many bytes has.
pub(super) fn at_most(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN_LEAST) as u64 + FORM_TOKENS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_priced_by_the_million() {
        let prices = TokenPrices {
            question: Nanodollars(150_000_000),
            answer: Nanodollars(600_000_000),
        };
        assert_eq!(prices.cost(1_000_000, 0), Nanodollars(150_000_000));
        assert_eq!(prices.cost(1_000, 500), Nanodollars(450_000));
        assert_eq!(prices.cost(0, 0), Nanodollars::ZERO);
        assert_eq!(
            TokenPrices::default().cost(u64::MAX, u64::MAX),
            Nanodollars::ZERO
        );
        let half = TokenPrices {
            question: Nanodollars(500_000),
            ..prices
        };
        assert_eq!(half.cost(1, 0), Nanodollars(1));
        let expensive = TokenPrices {
            question: Nanodollars::MAX,
            answer: Nanodollars::MAX,
        };
        assert_eq!(expensive.cost(u64::MAX, u64::MAX), Nanodollars::MAX);
        assert!(estimated(1_000) < at_most(1_000));
    }
}
