//! What a mistyped word was probably meant to be.

/// The longest word that is compared: no name of ours is longer, and the cost grows with the square of it.
const LONGEST_COMPARED: usize = 64;

/// How many letters the beginning of a word must have to stand for it.
const BEGINNING: usize = 3;

/// The candidate nearest to `word`, if one is near enough to be meant: about a third of its letters may be off, one always
/// may, and the beginning of a word is near to it.
fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let letters = word.chars().take(LONGEST_COMPARED + 1).count();
    if letters > LONGEST_COMPARED {
        return None;
    }
    let allowed = ((letters + 1) / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 4 * LONGEST_COMPARED)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        // A distance of the whole word has nothing in common with it.
        .filter(|(distance, candidate)| {
            let begins = letters >= BEGINNING && candidate.starts_with(word);
            begins || *distance <= allowed && *distance < candidate.chars().count()
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A hint that names the nearest candidate, or says what is there instead.
pub(crate) fn did_you_mean<'c>(
    word: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<String> {
    /// A longer list is not read.
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
