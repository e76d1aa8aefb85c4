//! Dates and times as ISO 8601 text, for labels and ids.

/// A date, time or duration stored as a whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemporalType {
    /// Days since 1970-01-01.
    Date,
    /// Time since midnight.
    Time(TimeUnit),
    /// Time since 1970-01-01T00:00:00, as wall-clock time (`None`) or UTC; the offset in minutes is applied before
    /// it is formatted.
    Timestamp(TimeUnit, Option<i32>),
    /// Length of time.
    Duration(TimeUnit),
}

/// Unit of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl TimeUnit {
    fn per_second(self) -> i64 {
        match self {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        }
    }

    /// Seconds, rounded down, and the nanoseconds after them.
    fn split(self, value: i64) -> (i64, i64) {
        let units = self.per_second();
        (value.div_euclid(units), value.rem_euclid(units) * (1_000_000_000 / units))
    }
}

const DAY: i64 = 86_400;

impl TemporalType {
    /// Formats a value as ISO 8601.
    pub fn format(&self, value: i64) -> String {
        match *self {
            TemporalType::Date => date(value),
            TemporalType::Time(unit) => {
                let (seconds, nanos) = unit.split(value);
                time(seconds.rem_euclid(DAY), nanos)
            }
            TemporalType::Timestamp(unit, offset) => {
                let (seconds, nanos) = unit.split(value);
                let local = seconds.saturating_add(i64::from(offset.unwrap_or(0)) * 60);
                let zone = match offset {
                    None => String::new(),
                    Some(0) => "Z".into(),
                    Some(minutes) => {
                        let sign = if minutes < 0 { '-' } else { '+' };
                        format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
                    }
                };
                format!("{}T{}{zone}", date(local.div_euclid(DAY)), time(local.rem_euclid(DAY), nanos))
            }
            TemporalType::Duration(unit) => {
                let (seconds, nanos) = unit.split(value.saturating_abs());
                let sign = if value < 0 { "-" } else { "" };
                let fraction = format!(".{nanos:09}");
                let fraction = if nanos == 0 { "" } else { fraction.trim_end_matches('0') };
                format!("{sign}PT{seconds}{fraction}S")
            }
        }
    }
}

/// Parses `+02:00` as minutes. Zones with a name are UTC: their rules are not known here.
pub(crate) fn zone_offset(zone: &str) -> i32 {
    let parse = || {
        let (sign, rest) = match zone.as_bytes().first()? {
            b'+' => (1, zone.get(1..)?),
            b'-' => (-1, zone.get(1..)?),
            _ => return None,
        };
        let (hours, minutes) = rest.split_once(':').or_else(|| rest.split_at_checked(2))?;
        let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
        Some(sign * (i32::from(hours) * 60 + i32::from(minutes)))
    };
    parse().unwrap_or(0)
}

/// A day of the proleptic Gregorian calendar, counted from 1970-01-01.
fn date(days: i64) -> String {
    // Counted from 0000-03-01, so that the leap day is the last of its year; eras of 400 years are alike.
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// Seconds since midnight; the fraction has three, six or nine digits, or none.
fn time(seconds: i64, nanos: i64) -> String {
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    match nanos {
        0 => clock,
        _ if nanos % 1_000_000 == 0 => format!("{clock}.{:03}", nanos / 1_000_000),
        _ if nanos % 1_000 == 0 => format!("{clock}.{:06}", nanos / 1_000),
        _ => format!("{clock}.{nanos:09}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_iso_8601() {
        let stamp = |zone| TemporalType::Timestamp(TimeUnit::Millisecond, zone);
        for (kind, value, expected) in [
            (TemporalType::Date, 0, "1970-01-01"),
            (TemporalType::Date, 19_782, "2024-02-29"),
            (TemporalType::Date, -1, "1969-12-31"),
            (TemporalType::Date, -719_469, "0000-02-29"),
            (stamp(None), 951_782_400_500, "2000-02-29T00:00:00.500"),
            (stamp(Some(0)), -1, "1969-12-31T23:59:59.999Z"),
            (stamp(Some(-90)), 0, "1969-12-31T22:30:00-01:30"),
            (TemporalType::Time(TimeUnit::Nanosecond), 3_661_000_000_001, "01:01:01.000000001"),
            (TemporalType::Duration(TimeUnit::Millisecond), -1_500, "-PT1.5S"),
        ] {
            assert_eq!(kind.format(value), expected);
        }
        for extreme in [i64::MIN, i64::MAX] {
            TemporalType::Date.format(extreme);
            stamp(Some(60)).format(extreme);
            TemporalType::Duration(TimeUnit::Nanosecond).format(extreme);
        }
    }

    #[test]
    fn zones_are_offsets_or_utc() {
        assert_eq!([zone_offset("+02:00"), zone_offset("-0130"), zone_offset("Europe/Berlin")], [120, -90, 0]);
    }
}
