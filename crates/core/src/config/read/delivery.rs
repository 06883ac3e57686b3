//! Reads `[commit]` and `[merge]`.

use super::super::{By, Commit, CommitStyle, Committer, Merge, Method, Sign};
use crate::delivery::message::VARIABLES;
use crate::template;
use crate::toml_reader::{Table, quoted};

/// Reads `[commit]`.
pub(super) fn commit(mut table: Table<'_, '_>, usual: Commit) -> Commit {
    let source = table.source;
    let style = table.word("style", &CommitStyle::ALL).map_or(usual.style, |style| style.value);
    let template = table.string("template").map(|text| {
        let blank = VARIABLES.map(|name| (name.to_owned(), "x".to_owned())).into();
        match template::Template::plain(&text.value).render(&blank) {
            Ok(rendered) if rendered.trim().is_empty() => {
                source.report(text.place, "the template is empty", None);
            }
            Ok(_) => {}
            Err(error) => {
                let hint = format!("it may use {}", VARIABLES.join(", "));
                source.report(text.place, format!("the template: {error}"), Some(hint));
            }
        }
        text.value
    });
    let trailer = table.string("trailer").map_or(usual.trailer, |text| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let bad = text.value.len() > 40 || !text.value.chars().all(plain);
        let named = text.value.is_empty() || text.value.starts_with(|c: char| c.is_ascii_alphabetic());
        if bad || !named {
            let what = format!("{} cannot be the name of a trailer", quoted(&text.value));
            let hint = "letters, digits and `-`: \"Task\"; \"\" for no trailer".to_owned();
            source.report(text.place, what, Some(hint));
        }
        text.value
    });
    let committer =
        table.word("committer", &Committer::ALL).map_or(usual.committer, |committer| committer.value);
    let co_authors = match table.strings("co_authors") {
        None => usual.co_authors,
        Some(list) => {
            let mut authors = Vec::new();
            for author in list {
                if !is_identity(&author.value) {
                    let what = format!("{} is not a name with an address", quoted(&author.value));
                    source.report(author.place, what, Some("write it as \"Name <address>\"".to_owned()));
                }
                authors.push(author.value);
            }
            authors
        }
    };
    let sign = table.word("sign", &Sign::ALL).map_or(usual.sign, |sign| sign.value);
    table.finish();
    Commit { style, template: template.or(usual.template), trailer, committer, co_authors, sign }
}

/// Reads `[merge]`.
pub(super) fn merge(mut table: Table<'_, '_>, usual: Merge) -> Merge {
    let batch = table.positive("batch", Merge::MOST).unwrap_or(usual.batch);
    let method = table.word("method", &Method::ALL).map_or(usual.method, |method| method.value);
    let by = table.word("by", &By::ALL).map_or(usual.by, |by| by.value);
    table.finish();
    Merge { batch, method, by }
}

/// Returns whether the text is `Name <address>` on one line.
fn is_identity(text: &str) -> bool {
    let Some((name, rest)) = text.split_once(" <") else { return false };
    let plain = |text: &str| {
        !text.trim().is_empty() && !text.contains(['<', '>']) && !text.contains(char::is_control)
    };
    rest.strip_suffix('>').is_some_and(|address| plain(address) && !address.contains(' ')) && plain(name)
}
