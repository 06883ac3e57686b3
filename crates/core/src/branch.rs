//! The readable part of a branch name.

use crate::task::Task;

/// Long enough to recognize a title in a list of branches.
const LONGEST_SLUG: usize = 48;

/// Converts a title to plain ASCII for a branch name: `add-a-json-flag`. Empty if it has no usable character.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()) {
        if !slug.is_empty() {
            if slug.len() + 1 + word.len() > LONGEST_SLUG {
                break;
            }
            slug.push('-');
        }
        slug.extend(word.chars().take(LONGEST_SLUG).map(|c| c.to_ascii_lowercase()));
    }
    slug
}

/// Returns a branch name with a better description than the task's title, with the same prefix and suffix. Returns
/// `None` if it does not differ.
pub fn described(task: &Task, description: &str) -> Option<String> {
    let seed = &task.seed;
    let (prefix, last) = seed.branch.rsplit_once('/')?;
    let id = seed.id.to_string();
    let ending = &last[last.rfind(&id)?..];
    let words = slug(description);
    let name = if words.is_empty() { return None } else { format!("{prefix}/{words}-{ending}") };
    (name != seed.branch).then_some(name)
}
