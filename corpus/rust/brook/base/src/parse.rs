use crate::{Error, Settings};

/// Reads a settings file.
pub fn parse(text: &str) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    let mut section = String::new();
    for (index, line) in text.split('\n').enumerate() {
        let line_number = index + 1;
        let line = strip_comment(line).trim_end_matches(' ').trim_start();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim().to_string();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(Error::Syntax { line: line_number, text: line.to_string() });
        };
        let key = if section.is_empty() {
            key.trim().to_string()
        } else {
            format!("{section}.{}", key.trim())
        };
        if settings.values.insert(key.clone(), unquote(value.trim_start()).to_string()).is_some() {
            return Err(Error::Duplicate { line: line_number, key });
        }
    }
    Ok(settings)
}

fn strip_comment(line: &str) -> &str {
    match line.find('#') {
        Some(at) => &line[..at],
        None => line,
    }
}

fn unquote(value: &str) -> &str {
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}
