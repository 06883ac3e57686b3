//! Suggests the word that a typo was probably meant to be.

/// Maximum length of a compared word. No name is longer, and the cost is quadratic.
const LONGEST_COMPARED: usize = 64;

/// Minimum length of a prefix to match a word.
const BEGINNING: usize = 3;

/// Returns the candidate nearest to `word`, if it is near enough: about a third of the letters may differ, but always
/// one; a prefix counts as near.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let letters = word.chars().take(LONGEST_COMPARED + 1).count();
    if letters > LONGEST_COMPARED {
        return None;
    }
    let allowed = ((letters + 1) / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 4 * LONGEST_COMPARED)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        // A distance of the whole word means that nothing matches.
        .filter(|(distance, candidate)| {
            let begins = letters >= BEGINNING && candidate.starts_with(word);
            begins || *distance <= allowed && *distance < candidate.chars().count()
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns a hint with the nearest candidate, or a list of what exists.
pub(crate) fn did_you_mean<'c>(
    word: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<String> {
    /// A longer list is not readable.
    const LISTED: usize = 16;
    if let Some(near) = nearest(word, candidates.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let mut names: Vec<&str> = Vec::new();
    for name in candidates {
        if names.len() <= LISTED && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    if names.len() > LISTED {
        names[LISTED] = "…";
    }
    Some(format!("{what}: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_suggested_and_a_far_one_is_not() {
        let stages = ["plan", "code", "review"];
        assert_eq!(nearest("reveiw", stages), Some("review"));
        assert_eq!(nearest("plann", stages), Some("plan"));
        assert_eq!(nearest("ab", ["ba"]), Some("ba"), "a swap of neighbours is one step");
        assert_eq!(nearest("cod", stages), Some("code"));
        assert_eq!(nearest("revue", stages), Some("review"));
        assert_eq!(nearest("warn", ["error", "warning"]), Some("warning"));
        assert_eq!(nearest("deploy", stages), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest(&"a".repeat(500), stages), None);
        assert_eq!(did_you_mean("deploy", "stages are", stages).unwrap(), "stages are: plan, code, review");
    }
}
