use std::fmt;

use crate::Document;

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for section in &self.sections {
            if !first {
                writeln!(f)?;
            }
            first = false;
            if !section.name.is_empty() {
                writeln!(f, "[{}]", section.name)?;
            }
            for (key, value) in &section.entries {
                writeln!(f, "{key} = {}", quote(value))?;
            }
        }
        Ok(())
    }
}

/// The value as it is written: in quotes if it would be read differently without.
fn quote(value: &str) -> String {
    if value == value.trim() && !value.starts_with('"') && !value.contains(['\n', '\t']) {
        return value.to_string();
    }
    let escaped =
        value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{escaped}\"")
}
