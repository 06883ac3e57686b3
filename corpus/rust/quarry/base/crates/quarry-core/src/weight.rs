//! Weights are whole kilograms.

use std::fmt;

/// Why a text is no weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightError {
    /// The unit is missing or unknown.
    Unit(String),
    /// What stands before the unit is no number.
    Number(String),
}

impl fmt::Display for WeightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightError::Unit(text) => write!(f, "no unit in {text:?}"),
            WeightError::Number(text) => write!(f, "no number in {text:?}"),
        }
    }
}

impl std::error::Error for WeightError {}

/// Reads `3t` or `250kg`.
///
/// ```
/// assert_eq!(quarry_core::weight::parse("3t"), Ok(3_000));
/// ```
pub fn parse(text: &str) -> Result<u64, WeightError> {
    let (number, factor) = if let Some(number) = text.strip_suffix("kg") {
        (number, 1)
    } else if let Some(number) = text.strip_suffix('t') {
        (number, 1_000)
    } else {
        return Err(WeightError::Unit(text.to_string()));
    };
    let number: u64 = number.parse().map_err(|_| WeightError::Number(text.to_string()))?;
    Ok(number * factor)
}

/// Writes 3500 as `3.5t` and 250 as `250kg`.
pub fn format(kg: u64) -> String {
    if kg < 1_000 {
        format!("{kg}kg")
    } else {
        format!("{}.{}t", kg / 1_000, kg % 1_000 / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_units() {
        assert_eq!(parse("250kg"), Ok(250));
        assert_eq!(parse("12t"), Ok(12_000));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(parse("12"), Err(WeightError::Unit("12".into())));
        assert_eq!(parse("xt"), Err(WeightError::Number("xt".into())));
    }

    #[test]
    fn writes_the_larger_unit() {
        for (kg, text) in [(0, "0kg"), (999, "999kg"), (3_500, "3.5t")] {
            assert_eq!(format(kg), text);
        }
    }
}
