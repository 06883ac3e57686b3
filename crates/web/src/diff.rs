//! What a task changed, by file.

use acquit_app::diff::FileChange;
use acquit_app::{App, Error};
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_run::git::Form;
use maud::{Markup, html};

use crate::page::Content;
use crate::words;

/// So many lines of a diff are on the page.
const MOST_LINES: usize = 5_000;
/// A file with more changed lines is folded.
const LARGE: usize = 400;

/// One file of a diff, as it is printed.
struct File<'t> {
    name: String,
    lines: Vec<&'t str>,
}

/// The page.
pub fn content(app: &App, store: &mut dyn Store, id: TaskId) -> Result<Content, Error> {
    let task = store.task(id)?;
    let diff = app.diff(store, id, Form::Patch)?;
    let text = String::from_utf8_lossy(&diff.text);
    let files = files(&text);
    let room = files.iter().scan(MOST_LINES, |left, file| {
        let room = *left;
        *left = left.saturating_sub(file.lines.len());
        Some(room)
    });
    let sum = |count: fn(&FileChange) -> Option<u64>| diff.files.iter().filter_map(count).sum::<u64>();
    let body = html! {
        nav.crumbs aria-label="Place" { a href="/" { "Board" } " / " a href={ "/tasks/" (id) } { (id) } " / diff" }
        div.head {
            h1 { (words::count(diff.files.len(), "file")) " changed, " span.ok { "+" (sum(|file| file.added)) } " " span.no { "−" (sum(|file| file.removed)) } }
            p.lede {
                (words::line(&task.seed.wish.title, 200)) " · against " code { (words::short(&diff.base.to_string())) } " · "
                @match &diff.tip { Some(tip) => { "commit " code { (words::short(&tip.to_string())) } }, None => "the working tree as it is now" }
            }
        }
        @for (file, room) in files.iter().zip(room) { (draw(file, room)) }
    };
    Ok(Content { title: format!("Diff of {id}"), task: Some(id), body })
}

fn files(text: &str) -> Vec<File<'_>> {
    let mut files: Vec<File<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let name = names.split_once(" b/").map_or(names, |(_, name)| name);
            files.push(File { name: name.to_owned(), lines: Vec::new() });
        } else if let Some(file) = files.last_mut() {
            file.lines.push(line);
        }
    }
    files
}

fn draw(file: &File<'_>, most: usize) -> Markup {
    let mut inside = false;
    let body = file.lines.iter().copied().filter(|line| {
        inside |= line.starts_with("@@");
        inside
            || line.starts_with("Binary")
            || line.starts_with("rename")
            || line.starts_with("new file")
            || line.starts_with("deleted")
            || line.starts_with("old mode")
            || line.starts_with("new mode")
    });
    let body: Vec<&str> = body.take(most).collect();
    html! {
        details.panel.diff open[body.len() <= LARGE] {
            summary.panel-head { code { (words::line(&file.name, 300)) } }
            div.scroll tabindex="0" role="region" aria-label={ "Changes of " (words::line(&file.name, 300)) } { table.code { tbody {
                @for (line, numbers) in numbered(&body) {
                    tr class=(class(line)) { td.ln { (numbers.0) } td.ln { (numbers.1) } td { pre { (words::text(line)) } } }
                }
            } } }
            @if body.len() >= most { p.panel-body.dim { "The rest is not shown. `acquit diff` prints all of it." } }
        }
    }
}

fn class(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "del",
        Some(b'@') => "hunk",
        _ => "same",
    }
}

/// Each line with its numbers before and after the change; none where it has none.
fn numbered<'t>(lines: &[&'t str]) -> Vec<(&'t str, (String, String))> {
    let (mut old, mut new) = (0_u64, 0_u64);
    let mut all = Vec::with_capacity(lines.len());
    for line in lines {
        let shown = |number: u64| if number == 0 { String::new() } else { number.to_string() };
        let numbers = match line.as_bytes().first() {
            Some(b'@') => {
                let begins = |sign: char| {
                    let at = line.split_whitespace().find_map(|word| word.strip_prefix(sign))?;
                    at.split(',').next()?.parse::<u64>().ok()
                };
                (old, new) = (begins('-').unwrap_or(0), begins('+').unwrap_or(0));
                (String::new(), String::new())
            }
            Some(b'+') => {
                new += 1;
                (String::new(), shown(new - 1))
            }
            Some(b'-') => {
                old += 1;
                (shown(old - 1), String::new())
            }
            Some(b' ') => {
                (old, new) = (old + 1, new + 1);
                (shown(old - 1), shown(new - 1))
            }
            _ => (String::new(), String::new()),
        };
        all.push((*line, numbers));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_numbers_of_both_sides() {
        let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@ fn\n same\n-old\n+new\n+more\n";
        let files = files(text);
        assert_eq!((files.len(), files[0].name.as_str()), (1, "x"));
        let lines: Vec<&str> =
            files[0].lines.iter().copied().skip_while(|line| !line.starts_with("@@")).collect();
        let numbers: Vec<(String, String)> =
            numbered(&lines).into_iter().map(|(_, numbers)| numbers).collect();
        let wanted = [("", ""), ("3", "3"), ("4", ""), ("", "4"), ("", "5")];
        assert_eq!(numbers, wanted.map(|(old, new)| (old.to_owned(), new.to_owned())));
    }
}
