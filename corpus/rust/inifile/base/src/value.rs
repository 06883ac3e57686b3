use std::str::FromStr;

use crate::{Error, Result, Section};

impl Section {
    /// The value of a key as a type that can be parsed.
    pub fn get_as<T: FromStr>(&self, key: &str) -> Result<T> {
        let text = self.required(key)?;
        text.parse().map_err(|_| invalid(key, text))
    }

    /// The value of a key as a boolean.
    pub fn get_bool(&self, key: &str) -> Result<bool> {
        let text = self.required(key)?;
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(invalid(key, text)),
        }
    }

    /// The value of a key as a size in bytes, such as `16k`.
    pub fn get_size(&self, key: &str) -> Result<u64> {
        let text = self.required(key)?;
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            _ => return Err(invalid(key, text)),
        };
        let number: u64 = digits.parse().map_err(|_| invalid(key, text))?;
        number.checked_mul(1 << shift).ok_or_else(|| invalid(key, text))
    }

    /// The value of a key as a list, separated by commas. Empty items are dropped.
    pub fn get_list(&self, key: &str) -> Result<Vec<&str>> {
        let text = self.required(key)?;
        Ok(text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect())
    }

    fn required(&self, key: &str) -> Result<&str> {
        self.get(key).ok_or_else(|| Error::NoKey(key.to_string()))
    }
}

fn invalid(key: &str, value: &str) -> Error {
    Error::Invalid(key.to_string(), value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(value: &str) -> Section {
        let mut section = Section::default();
        section.set("key", value);
        section
    }

    #[test]
    fn numbers() {
        assert_eq!(section("8080").get_as::<u16>("key"), Ok(8080));
        assert_eq!(section("-1.5").get_as::<f64>("key"), Ok(-1.5));
        assert_eq!(section("70000").get_as::<u16>("key"), Err(invalid("key", "70000")));
    }

    #[test]
    fn missing_key() {
        assert_eq!(section("1").get_as::<u8>("other"), Err(Error::NoKey("other".into())));
    }

    #[test]
    fn booleans() {
        for text in ["true", "Yes", "ON", "1"] {
            assert_eq!(section(text).get_bool("key"), Ok(true), "{text}");
        }
        for text in ["false", "No", "OFF", "0"] {
            assert_eq!(section(text).get_bool("key"), Ok(false), "{text}");
        }
        assert_eq!(section("maybe").get_bool("key"), Err(invalid("key", "maybe")));
    }

    #[test]
    fn sizes() {
        assert_eq!(section("512").get_size("key"), Ok(512));
        assert_eq!(section("16k").get_size("key"), Ok(16384));
        assert_eq!(section("2M").get_size("key"), Ok(2 * 1024 * 1024));
        assert_eq!(section("1g").get_size("key"), Ok(1 << 30));
    }

    #[test]
    fn wrong_sizes() {
        for text in ["", "k", "16kb", "-1k", "1.5m", "99999999999999g"] {
            assert_eq!(section(text).get_size("key"), Err(invalid("key", text)), "{text}");
        }
    }

    #[test]
    fn lists() {
        assert_eq!(section("a, b ,,c").get_list("key"), Ok(vec!["a", "b", "c"]));
        assert_eq!(section("").get_list("key"), Ok(vec![]));
    }
}
