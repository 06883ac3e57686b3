//! Fractions of whole numbers.

use std::fmt;

/// A fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// The part above.
    pub num: i64,
    /// The part below.
    pub den: i64,
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 {
        a.abs()
    } else {
        gcd(b, a % b)
    }
}

impl Ratio {
    /// A fraction in lowest terms.
    pub fn new(num: i64, den: i64) -> Ratio {
        let by = gcd(num, den);
        Ratio { num: num / by, den: den / by }
    }

    /// The sum of two fractions.
    pub fn add(self, other: Ratio) -> Ratio {
        Ratio::new(self.num * other.den + other.num * self.den, self.den * other.den)
    }

    /// Rounded down to whole percents.
    pub fn percent(self) -> i64 {
        self.num * 100 / self.den
    }

    /// Reads `3/4` or `3`.
    pub fn parse(text: &str) -> Result<Ratio, String> {
        let mut parts = text.split('/');
        let num = parts.next().ok_or("empty")?.trim();
        let den = parts.next().unwrap_or("1").trim();
        let num = num.parse().map_err(|_| format!("not a number: {num}"))?;
        let den = den.parse().map_err(|_| format!("not a number: {den}"))?;
        Ok(Ratio::new(num, den))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.num, self.den)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_terms() {
        assert_eq!(Ratio::new(6, 8), Ratio { num: 3, den: 4 });
    }

    #[test]
    fn sum() {
        assert_eq!(Ratio::new(1, 2).add(Ratio::new(1, 3)), Ratio::new(5, 6));
    }

    #[test]
    fn percents() {
        assert_eq!(Ratio::new(1, 3).percent(), 33);
        assert_eq!(Ratio::new(3, 2).percent(), 150);
    }

    #[test]
    fn reads_both_forms() {
        assert_eq!(Ratio::parse("3/4"), Ok(Ratio::new(3, 4)));
        assert_eq!(Ratio::parse(" 5 "), Ok(Ratio::new(5, 1)));
    }

    #[test]
    fn says_what_is_not_a_number() {
        assert_eq!(Ratio::parse("x/2"), Err("not a number: x".to_string()));
    }
}
