//! Where requests leave: a proxy pool, and the country of its proxy.

use std::fmt;

use super::{FetchPlan, Pool};

/// The way out of a page's requests. What is fetched for the page, such as robots.txt, has the
/// same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Exit {
    /// The proxy pool.
    pub pool: Pool,
    /// The country of the proxy; `None` is any.
    pub country: Option<Country>,
}

/// A country: its ISO 3166 code, upper case.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Country([u8; 2]);

impl Country {
    /// The country with this code; `None` if the text does not have two ASCII letters.
    pub fn of(code: &str) -> Option<Self> {
        match code.as_bytes() {
            &[first, second] if first.is_ascii_alphabetic() && second.is_ascii_alphabetic() => {
                Some(Self([first, second]))
            }
            _ => None,
        }
    }

    /// Its code.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl From<Pool> for Exit {
    fn from(pool: Pool) -> Self {
        Self {
            pool,
            country: None,
        }
    }
}

impl FetchPlan {
    /// Where its requests leave.
    pub fn exit(&self) -> Exit {
        Exit {
            pool: self.pool,
            country: self.country_code.as_deref().and_then(Country::of),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_exit_of_a_plan_has_its_pool_and_country() {
        let plan = FetchPlan {
            pool: Pool::Isp,
            country_code: Some("DE".to_owned()),
            ..FetchPlan::bare(Duration::ZERO)
        };
        let exit = plan.exit();
        assert_eq!(exit.pool, Pool::Isp);
        assert_eq!(exit.country.as_ref().map(Country::code), Some("DE"));
        assert_eq!(FetchPlan::bare(Duration::ZERO).exit(), Exit::default());
        for wrong in ["", "D", "DEU", "Ü", "D1"] {
            assert_eq!(Country::of(wrong), None, "{wrong}");
        }
    }
}
