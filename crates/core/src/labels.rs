//! The part of a task's request that a person may edit while the task is open: how urgent and how large it is, and how it is found.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::night::key;
use crate::task::Wish;

/// The labels of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Tasks with a higher priority are claimed first.
    pub priority: i32,
    /// Estimated size.
    pub size: Option<String>,
    /// Estimated complexity.
    pub complexity: Option<String>,
    /// Tags for filtering.
    pub tags: Vec<String>,
    /// Free-form data, with the ticket.
    pub metadata: BTreeMap<String, String>,
}

/// An edit of a task's labels. What it does not name stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// New priority.
    pub priority: Option<i32>,
    /// New size. Empty removes it.
    pub size: Option<String>,
    /// New complexity. Empty removes it.
    pub complexity: Option<String>,
    /// Tags to add.
    pub add_tags: Vec<String>,
    /// Tags to remove.
    pub remove_tags: Vec<String>,
    /// New metadata by name. An empty value removes the entry.
    pub metadata: BTreeMap<String, String>,
}

impl fmt::Display for Labels {
    /// Shows the labels that are set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "priority {}", self.priority)?;
        for (name, value) in [("size", &self.size), ("complexity", &self.complexity)] {
            if let Some(value) = value {
                write!(f, ", {name} {value}")?;
            }
        }
        if !self.tags.is_empty() {
            write!(f, ", tags {}", self.tags.join(" "))?;
        }
        for (name, value) in self.metadata.iter().filter(|(name, _)| !key::ALL.contains(&name.as_str())) {
            write!(f, ", {name} {value}")?;
        }
        Ok(())
    }
}

impl Wish {
    /// Returns the labels.
    pub fn labels(&self) -> Labels {
        let Self { priority, size, complexity, tags, metadata, .. } = self.clone();
        Labels { priority, size, complexity, tags, metadata }
    }

    /// Replaces the labels.
    pub(crate) fn relabel(&mut self, labels: Labels) {
        let Labels { priority, size, complexity, tags, metadata } = labels;
        (self.priority, self.size, self.complexity) = (priority, size, complexity);
        (self.tags, self.metadata) = (tags, metadata);
    }
}

impl Edit {
    /// Returns the metadata that acquit itself sets, if the edit names any.
    pub fn reserved(&self) -> Option<&str> {
        self.metadata.keys().map(String::as_str).find(|name| key::ALL.contains(name))
    }

    /// Returns the labels after this edit.
    pub fn of(&self, mut labels: Labels) -> Labels {
        let given = |new: &String| Some(new.clone()).filter(|new| !new.is_empty());
        labels.priority = self.priority.unwrap_or(labels.priority);
        if let Some(size) = &self.size {
            labels.size = given(size);
        }
        if let Some(complexity) = &self.complexity {
            labels.complexity = given(complexity);
        }
        labels.tags.retain(|tag| !self.remove_tags.contains(tag));
        for tag in &self.add_tags {
            if !labels.tags.contains(tag) {
                labels.tags.push(tag.clone());
            }
        }
        for (name, value) in &self.metadata {
            match given(value) {
                Some(value) => drop(labels.metadata.insert(name.clone(), value)),
                None => drop(labels.metadata.remove(name)),
            }
        }
        labels
    }
}
