//! What values of a request mean wherever they are.

use std::time::Duration;

use trawl_model::Nanodollars;
use trawl_parameters::Time;
use trawl_plan::PlanError;

/// Decision D25: a blank text counts as not set.
pub(crate) fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

/// Whether a switch that is off by default is on.
pub(crate) fn is_on(switch: Option<bool>) -> bool {
    switch.unwrap_or(false)
}

/// A limit in credits; `None` for no limit. Decision D35: 0 is a limit like any other, so a caller
/// who allows nothing pays nothing.
pub(crate) fn credits(limit: Option<u64>) -> Nanodollars {
    limit.map_or(Nanodollars::MAX, |credits| {
        Nanodollars::from_credits(i64::try_from(credits).unwrap_or(i64::MAX))
    })
}

/// The duration in a parameter; `None` if it is not set or says none.
///
/// # Errors
/// It has none of the forms.
pub(crate) fn time<T: Time>(
    field: &'static str,
    sent: Option<&T>,
) -> Result<Option<Duration>, PlanError> {
    let read = sent.map(Time::duration).transpose();
    let read = read.map_err(|reason| PlanError::new(field, reason))?;
    Ok(read.flatten())
}
