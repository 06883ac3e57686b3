use std::str::FromStr;

use crate::{Document, Error, Result};

impl FromStr for Document {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut doc = Document::new();
        let mut current = String::new();
        for (index, raw) in text.lines().enumerate() {
            let line = raw.trim();
            let number = index + 1;
            if line.is_empty() || line.starts_with(';') || line.starts_with('#') {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                let name = rest.strip_suffix(']').ok_or_else(|| syntax(number, line))?.trim();
                current = name.to_string();
                doc.section_mut(&current);
                continue;
            }
            let (key, value) = line.split_once('=').ok_or_else(|| syntax(number, line))?;
            let key = key.trim();
            if key.is_empty() {
                return Err(syntax(number, line));
            }
            let value = unquote(value.trim()).ok_or_else(|| syntax(number, line))?;
            let section = doc.section_mut(&current);
            if section.get(key).is_some() {
                return Err(Error::Duplicate(number, key.to_string()));
            }
            section.set(key, value);
        }
        Ok(doc)
    }
}

fn syntax(number: usize, line: &str) -> Error {
    Error::Syntax(number, line.to_string())
}

/// The text of a quoted value, or the value itself. `None` if the quotes or the escapes are wrong.
fn unquote(value: &str) -> Option<String> {
    let Some(inner) = value.strip_prefix('"') else {
        return Some(value.to_string());
    };
    let inner = inner.strip_suffix('"')?;
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return None,
            '\\' => out.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                '"' => '"',
                '\\' => '\\',
                _ => return None,
            }),
            c => out.push(c),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn plain_values_stay_as_they_are() {
        assert_eq!(unquote("a b").as_deref(), Some("a b"));
        assert_eq!(unquote("").as_deref(), Some(""));
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(unquote(r#"" a ""#).as_deref(), Some(" a "));
        assert_eq!(unquote(r#""a\nb\t\"c\"\\""#).as_deref(), Some("a\nb\t\"c\"\\"));
    }

    #[test]
    fn wrong_quotes() {
        for text in [r#"""#, r#""a"#, r#""a\q""#, r#""a"b""#, r#""a\""#] {
            assert_eq!(unquote(text), None, "{text}");
        }
    }
}
