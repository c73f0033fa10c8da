//! Dates of feeds in RFC 3339.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// A date of RFC 822, as RSS has it, in RFC 3339; any other text trimmed and unchanged.
pub(crate) fn rfc_3339(date: &str) -> String {
    rfc_822(date).unwrap_or_else(|| date.trim().to_owned())
}

/// `Tue, 03 Jun 2008 11:05:30 +0200` as `2008-06-03T11:05:30+02:00`.
fn rfc_822(date: &str) -> Option<String> {
    let date = date.trim();
    let date = date.split_once(',').map_or(date, |(_, rest)| rest);
    let mut parts = date.split_ascii_whitespace();
    let day: u32 = parts.next()?.parse().ok()?;
    let name = parts.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name)? + 1;
    let year = match parts.next()? {
        // RFC 822 had two digits.
        short if short.len() == 2 => match short.parse::<u32>().ok()? {
            year if year < 70 => 2000 + year,
            year => 1900 + year,
        },
        year if year.len() == 4 => year.parse().ok()?,
        _ => return None,
    };
    let mut time = parts.next().unwrap_or("00:00").split(':');
    let mut number = |max: u32| {
        let value: u32 = time.next().unwrap_or("0").parse().ok()?;
        (value <= max).then_some(value)
    };
    let (hour, minute, second) = (number(23)?, number(59)?, number(60)?);
    let zone = zone(parts.next().unwrap_or("GMT"))?;
    (1..=31)
        .contains(&day)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"))
}

fn zone(name: &str) -> Option<String> {
    let hours = match name.to_ascii_uppercase().as_str() {
        "GMT" | "UT" | "UTC" | "Z" => return Some("Z".to_owned()),
        "EDT" => "-04:00",
        "EST" | "CDT" => "-05:00",
        "CST" | "MDT" => "-06:00",
        "MST" | "PDT" => "-07:00",
        "PST" => "-08:00",
        _ => {
            let digits = name.strip_prefix(['+', '-'])?;
            let is_good = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
            return is_good.then(|| format!("{}{}:{}", &name[..1], &digits[..2], &digits[2..]));
        }
    };
    Some(hours.to_owned())
}

#[cfg(test)]
mod tests {
    use super::rfc_3339;

    #[test]
    fn dates_of_rss_are_rewritten() {
        let check = |date: &str, expected: &str| assert_eq!(rfc_3339(date), expected, "{date}");
        check(
            "Tue, 03 Jun 2008 11:05:30 +0200",
            "2008-06-03T11:05:30+02:00",
        );
        check("3 June 99 1:05 EST", "1999-06-03T01:05:00-05:00");
        check(" Sat, 07 Sep 2002 00:00:01 GMT ", "2002-09-07T00:00:01Z");
        check("1 Jan 2020", "2020-01-01T00:00:00Z");
    }

    #[test]
    fn others_stay() {
        for date in [
            "2008-06-03T11:05:30Z",
            "yesterday",
            "Tue, 99 Jun 2008 11:05:30 GMT",
            "1 Ja\u{e4} 2020",
            "",
        ] {
            assert_eq!(rfc_3339(date), date);
        }
    }
}
