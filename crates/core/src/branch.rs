//! The readable part of a branch's name.

use crate::task::Task;

/// Long enough to recognise a title in a list of branches.
const LONGEST_SLUG: usize = 48;

/// A title in plain ASCII for the name of a branch: `add-a-json-flag`. Empty if no letter of it can be used.
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

/// The branch of a task whose work has a better description than its title: the same prefix and ending, with other words between.
/// `None` if that makes no difference.
pub fn described(task: &Task, description: &str) -> Option<String> {
    let seed = &task.seed;
    let (prefix, last) = seed.branch.rsplit_once('/')?;
    let id = seed.id.to_string();
    let ending = &last[last.rfind(&id)?..];
    let words = slug(description);
    let name = if words.is_empty() { return None } else { format!("{prefix}/{words}-{ending}") };
    (name != seed.branch).then_some(name)
}
