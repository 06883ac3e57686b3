//! Edits `acquit.toml` and keeps its comments and order. After an edit the text is parsed again. An edit without the
//! intended effect is dropped, and unusual formatting is left for a person to change.

use serde::Serialize;

/// An edit of `acquit.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edit {
    /// Sets a key of a table to a TOML value.
    Set {
        /// Table name, such as `gates.lint`.
        table: String,
        /// Key.
        key: String,
        /// TOML value.
        value: String,
    },
    /// Adds strings to a list of a table.
    Add {
        /// Table name.
        table: String,
        /// Key.
        key: String,
        /// Strings to add.
        values: Vec<String>,
    },
}

impl Edit {
    /// Returns the lines that a person would add.
    pub fn lines(&self) -> String {
        match self {
            Self::Set { table, key, value } => format!("[{table}]\n{key} = {value}"),
            Self::Add { table, key, values } => {
                let list: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
                format!("[{table}]\n{key} = [{}]", list.join(", "))
            }
        }
    }

    /// Returns the edited text, or `None` if the edit cannot be made safely.
    pub fn apply(&self, text: &str) -> Option<String> {
        let done = match self {
            Self::Set { table, key, value } => set(text, table, key, value),
            Self::Add { table, key, values } => add(text, table, key, values)?,
        };
        self.holds(&done).then_some(done)
    }

    /// Returns whether a text has the effect of the edit.
    fn holds(&self, text: &str) -> bool {
        let Ok(root) = text.parse::<toml::Table>() else { return false };
        let find = |table: &str, key: &str| {
            let mut at = &root;
            for part in table.split('.') {
                at = at.get(part)?.as_table()?;
            }
            at.get(key).cloned()
        };
        match self {
            Self::Set { table, key, value } => find(table, key).is_some_and(|found| {
                format!("x = {value}")
                    .parse::<toml::Table>()
                    .is_ok_and(|wanted| wanted.get("x") == Some(&found))
            }),
            Self::Add { table, key, values } => find(table, key).is_some_and(|found| {
                let list = found.as_array().cloned().unwrap_or_default();
                values.iter().all(|value| list.iter().any(|known| known.as_str() == Some(value)))
            }),
        }
    }
}

/// Returns the range of a table's lines, from the line after its header to the next header.
fn section(lines: &[&str], table: &str) -> Option<(usize, usize)> {
    let header = format!("[{table}]");
    let is_header = |line: &str| line.split('#').next().is_some_and(|line| line.trim() == header);
    let start = lines.iter().position(|line| is_header(line))? + 1;
    let end =
        lines[start..].iter().position(|line| line.starts_with('[')).map_or(lines.len(), |at| start + at);
    Some((start, end))
}

fn key_line(lines: &[&str], (start, end): (usize, usize), key: &str) -> Option<usize> {
    let is_key =
        |line: &str| line.split('=').next().is_some_and(|name| name.trim() == key && line.contains('='));
    lines[start..end].iter().position(|line| is_key(line)).map(|at| start + at)
}

fn set(text: &str, table: &str, key: &str, value: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let line = format!("{key} = {value}");
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let Some((start, end)) = section(&lines, table) else {
        out.push(format!("\n[{table}]\n{line}"));
        return out.join("\n") + "\n";
    };
    if let Some(at) = key_line(&lines, (start, end), key) {
        out[at] = line;
    } else {
        // Insert after the last key of the table: empty lines and comments at its end belong to what follows.
        let is_key = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let last = lines[start..end].iter().rposition(|line| is_key(line)).map_or(start, |at| start + at + 1);
        out.insert(last, line);
    }
    out.join("\n") + "\n"
}

fn add(text: &str, table: &str, key: &str, values: &[String]) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let quoted = |value: &String| toml::Value::from(value.as_str()).to_string();
    let list: Vec<String> = values.iter().map(quoted).collect();
    let Some(section) = section(&lines, table) else {
        return Some(set(text, table, key, &format!("[{}]", list.join(", "))));
    };
    let Some(at) = key_line(&lines, section, key) else {
        return Some(set(text, table, key, &format!("[{}]", list.join(", "))));
    };
    let mut out: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    if lines[at].trim_end().ends_with('[') {
        let close = lines[at..section.1].iter().position(|line| line.trim_start().starts_with(']'))? + at;
        for (number, value) in list.iter().enumerate() {
            out.insert(close + number, format!("    {value},"));
        }
    } else {
        let (head, tail) = lines[at].rsplit_once(']')?;
        let comma = if head.trim_end().ends_with(['[', ',']) { "" } else { "," };
        out[at] = format!("{}{comma} {}]{tail}", head.trim_end(), list.join(", "));
    }
    Some(out.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# top\n[network]\nhosts = [\n    \"a.example\", # why\n]\n\n[gates.lint]\nrun = \"x\"\n\n# About test.\n[gates.test]\nrun = \"y\"\n";

    fn set(table: &str, key: &str, value: &str) -> Edit {
        Edit::Set { table: table.to_owned(), key: key.to_owned(), value: value.to_owned() }
    }

    fn hosts(values: &[&str]) -> Edit {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Edit::Add { table: "network".to_owned(), key: "hosts".to_owned(), values }
    }

    #[test]
    fn a_key_is_set_in_its_table_and_comments_stay() {
        let done = set("gates.lint", "severity", "\"warning\"").apply(TEXT).unwrap();
        assert!(
            done.contains("[gates.lint]\nrun = \"x\"\nseverity = \"warning\"\n\n# About test.\n[gates.test]"),
            "{done}"
        );
        let done = set("gates.lint", "run", "\"z\"").apply(&done).unwrap();
        assert!(done.contains("run = \"z\"\nseverity") && done.starts_with("# top\n"), "{done}");
        let done = set("setup", "timeout", "\"1h\"").apply(TEXT).unwrap();
        assert!(done.ends_with("\n[setup]\ntimeout = \"1h\"\n"), "{done}");
    }

    #[test]
    fn hosts_are_added_to_lists_of_every_form() {
        let done = hosts(&["b.example", "c.example"]).apply(TEXT).unwrap();
        assert!(
            done.contains("    \"a.example\", # why\n    \"b.example\",\n    \"c.example\",\n]"),
            "{done}"
        );
        for text in [
            "[network]\nhosts = []\n",
            "[network]\nhosts = [\"a\"] # x\n",
            "[network]\n",
            "",
            "[network]\nhosts = [\"a\",]\n",
        ] {
            assert!(hosts(&["b.example"]).apply(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_a_person_wrote_in_another_form_is_left_alone() {
        for text in
            ["network = { hosts = [] }\n", "network.hosts = [\"a\"]\n", "[network]\nhosts = [ # ]\n\"a\"]\n"]
        {
            assert_eq!(hosts(&["b.example"]).apply(text), None, "{text}");
        }
    }
}
