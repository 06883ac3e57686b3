//! The marker: how a request is known to be a task's own, and which part of its text is acquit's.
//!
//! A task's number is known to one store only, and two people may both have a `T-12`. So the marker also carries a number
//! that follows from everything the task was made of. It stands in comments around acquit's part of the text: what people write
//! before or after it is theirs, and stays when the request is brought up to date.

use crate::task::Seed;

const OPENING: &str = "<!-- acquit: ";
const CLOSING: &str = "<!-- /acquit -->";
const END: &str = " -->";

/// A task's mark in the text of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker(String);

/// Whose request a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The task's own.
    Ours,
    /// Another task's, perhaps of another store.
    Others,
    /// A person's: it has no mark.
    Nobodys,
}

impl Marker {
    /// The mark of a task.
    pub fn of(seed: &Seed) -> Self {
        // Every part of a seed has one form in JSON, so that the same task has the same mark for ever.
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

    /// The task's part of a text, between its marks.
    pub fn around(&self, text: &str) -> String {
        format!("{OPENING}{}{END}\n{}\n{CLOSING}", self.0, text.trim_end())
    }

    /// How many bytes the marks take.
    pub fn length(&self) -> usize {
        self.around("").len()
    }

    /// Whose request has this text.
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

    /// The request's text with the task's part replaced; put after what a person wrote, if it had none.
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

/// The marks in a text, each with where it begins.
fn marks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(OPENING).filter_map(|(at, _)| {
        let rest = &text[at + OPENING.len()..];
        Some((at, &rest[..rest.find(END)?]))
    })
}

/// FNV-1a: nobody gains by finding another task with the same number.
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
