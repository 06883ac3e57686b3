use crate::{Error, Result};

const DEPTH: usize = 10;

/// A file: sections in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    pub(crate) sections: Vec<Section>,
}

/// A section: keys and values in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    pub(crate) name: String,
    pub(crate) entries: Vec<(String, String)>,
}

impl Document {
    /// An empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names of the sections, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sections.iter().map(|section| section.name.as_str())
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Result<&Section> {
        self.sections
            .iter()
            .find(|section| section.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| Error::NoSection(name.to_string()))
    }

    /// The section of this name, which is added if there is none.
    pub fn section_mut(&mut self, name: &str) -> &mut Section {
        let found =
            self.sections.iter().position(|section| section.name.eq_ignore_ascii_case(name));
        let index = found.unwrap_or_else(|| {
            self.sections.push(Section { name: name.to_string(), entries: Vec::new() });
            self.sections.len() - 1
        });
        &mut self.sections[index]
    }

    /// The value of a key with `${key}` and `${section:key}` replaced.
    pub fn resolve(&self, section: &str, key: &str) -> Result<String> {
        self.resolve_at(section, key, 0)
    }

    fn resolve_at(&self, section: &str, key: &str, depth: usize) -> Result<String> {
        if depth > DEPTH {
            return Err(Error::Cycle(key.to_string()));
        }
        let mut rest =
            self.section(section)?.get(key).ok_or_else(|| Error::NoKey(key.to_string()))?;
        let mut out = String::new();
        while let Some(start) = rest.find("${") {
            let Some(len) = rest[start..].find('}') else { break };
            out.push_str(&rest[..start]);
            let inner = &rest[start + 2..start + len];
            let (place, name) = inner.split_once(':').unwrap_or((section, inner));
            out.push_str(&self.resolve_at(place, name, depth + 1)?);
            rest = &rest[start + len + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

impl Section {
    /// The name of the section.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map(|(_, value)| value.as_str())
    }

    /// Sets a key, in its place if it is there, else at the end.
    pub fn set(&mut self, key: &str, value: impl Into<String>) -> &mut Self {
        match self.entries.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(key)) {
            Some((_, old)) => *old = value.into(),
            None => self.entries.push((key.to_string(), value.into())),
        }
        self
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        let index = self.entries.iter().position(|(name, _)| name.eq_ignore_ascii_case(key))?;
        Some(self.entries.remove(index).1)
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }
}
