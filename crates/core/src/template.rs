//! Variables in templates: `{{ name }}`, replaced once, from an explicit list. Nothing is evaluated, nothing is taken
//! from the environment, and a value that itself looks like a template stays as it is.

use std::collections::BTreeMap;

/// Why a template cannot be rendered. Found before anything is spawned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A variable that nobody set.
    #[error("unknown variable `{name}`; known are: {known}")]
    Unknown {
        /// The name, bounded.
        name: String,
        /// What could have been meant.
        known: String,
    },
    /// `{{` that never closes.
    #[error("`{{{{` at byte {at} is never closed by `}}}}`")]
    Unclosed {
        /// Where it opens.
        at: usize,
    },
}

/// Replaces each `{{ name }}` by its value.
pub fn render(template: &str, variables: &BTreeMap<String, String>) -> Result<String, Error> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        out.push_str(&rest[..open]);
        let at = template.len() - rest.len() + open;
        let inside = &rest[open + 2..];
        let close = inside.find("}}").ok_or(Error::Unclosed { at })?;
        let name = inside[..close].trim();
        let value = variables.get(name).ok_or_else(|| Error::Unknown {
            name: crate::agent::shorten(name, 60),
            known: variables.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })?;
        out.push_str(value);
        rest = &inside[close + 2..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_never_rendered_twice() {
        let variables =
            BTreeMap::from([("a".to_owned(), "{{ b }}".to_owned()), ("b".to_owned(), "x".to_owned())]);
        assert_eq!(render("<{{a}}|{{ b }}>", &variables).unwrap(), "<{{ b }}|x>");
    }

    #[test]
    fn an_unknown_variable_is_named_with_what_is_known() {
        let variables = BTreeMap::from([("branch".to_owned(), String::new())]);
        let error = render("on {{ branhc }}", &variables).unwrap_err();
        assert_eq!(error.to_string(), "unknown variable `branhc`; known are: branch");
        assert_eq!(render("x {{ y", &variables), Err(Error::Unclosed { at: 2 }));
    }
}
