//! The marker that identifies a task's pull request and acquit's part of its description.
//!
//! A task's number is unique only within one store, so two people may both have a `T-12`. The marker therefore also
//! contains a hash of the task's seed. It is in comments around acquit's part of the text. What people write before or
//! after is theirs, and stays when the pull request is updated.

use crate::task::Seed;

const OPENING: &str = "<!-- acquit: ";
const CLOSING: &str = "<!-- /acquit -->";
const END: &str = " -->";

/// The marker of a task in the description of its pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker(String);

/// Who a pull request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This task.
    Ours,
    /// Another task, perhaps of another store.
    Others,
    /// A person: it has no marker.
    Nobodys,
}

impl Marker {
    /// Returns the marker of a task.
    pub fn of(seed: &Seed) -> Self {
        // Every part of a seed has exactly one JSON form, so the marker of a task never changes.
        let whole = serde_json::json!([
            seed.id,
            seed.project.path,
            seed.base.commit,
            seed.branch,
            seed.created,
            seed.wish.title
        ]);
        Self(format!("{} {:016x}", seed.id, hash(whole.to_string().as_bytes())))
    }

    /// Puts markers around the task's part of a text.
    pub fn around(&self, text: &str) -> String {
        format!("{OPENING}{}{END}\n{}\n{CLOSING}", self.0, text.trim_end())
    }

    /// Returns the size of the markers in bytes.
    pub fn length(&self) -> usize {
        self.around("").len()
    }

    /// Returns who the pull request with this text belongs to.
    pub fn whose(&self, text: &str) -> Whose {
        let marks: Vec<&str> = marks(text).map(|(_, mark)| mark).collect();
        if marks.contains(&self.0.as_str()) {
            Whose::Ours
        } else if marks.is_empty() {
            Whose::Nobodys
        } else {
            Whose::Others
        }
    }

    /// Replaces the task's part of a description, or appends it if there is none.
    pub fn replace(&self, old: &str, part: &str) -> String {
        let found = marks(old).find(|(_, mark)| *mark == self.0).map(|(at, _)| at);
        let Some(start) = found else {
            let before = old.trim_end();
            return if before.is_empty() { part.to_owned() } else { format!("{before}\n\n{part}") };
        };
        let end = old[start..].find(CLOSING).map_or(old.len(), |at| start + at + CLOSING.len());
        format!("{}{part}{}", &old[..start], &old[end..])
    }
}

/// Returns the markers in a text with their offsets.
fn marks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(OPENING).filter_map(|(at, _)| {
        let rest = &text[at + OPENING.len()..];
        Some((at, &rest[..rest.find(END)?]))
    })
}

/// FNV-1a. It need not resist attacks, because another task with the same hash is of no use to an attacker.
fn hash(bytes: &[u8]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(START, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_wrote_around_it_stays() {
        let marker = Marker("T-1 0011".to_owned());
        let first = marker.around("one");
        let edited = format!("Hello\n\n{first}\n\nThanks");
        let second = marker.replace(&edited, &marker.around("two"));
        assert_eq!(second, format!("Hello\n\n{}\n\nThanks", marker.around("two")));
        assert_eq!(marker.whose(&second), Whose::Ours);
        assert_eq!(Marker("T-1 0012".to_owned()).whose(&second), Whose::Others);
        assert_eq!(marker.whose("by hand"), Whose::Nobodys);
        assert_eq!(marker.replace("by hand\n", "x"), "by hand\n\nx");
        assert_eq!(marker.replace("", "x"), "x");
        let torn = &first[..first.len() - 5];
        assert_eq!(marker.replace(torn, "x"), "x", "a mark whose end is gone goes to the end of the text");
    }
}
