//! Tests of the command line as a whole.

use std::path::{Path, PathBuf};

use clap::CommandFactory;

use super::*;

#[test]
fn the_command_line_is_sound_and_every_option_says_what_it_is_for() {
    fn look(command: &clap::Command, path: &str) {
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            assert!(arg.get_help().is_some(), "{path}: {}", arg.get_id());
        }
        for below in command.get_subcommands() {
            assert!(below.get_about().is_some(), "{path} {}", below.get_name());
            look(below, &format!("{path} {}", below.get_name()));
        }
    }
    let command = Args::command();
    command.clone().debug_assert();
    look(&command, "acquit");
}

/// Finds commands in a text: in backquotes, after a prompt or in the examples of a help text, starting with `acquit`.
fn commands(text: &str) -> Vec<String> {
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let typed = text.lines().filter_map(|line| line.trim_start().strip_prefix("$ "));
    // In the source, a line break of a help text is two characters, and so is a quote.
    let examples = text.split("\\n  ").skip(1).map(|rest| {
        let end = rest
            .match_indices('"')
            .find(|(at, _)| !rest[..*at].ends_with('\\'))
            .map_or(rest.len(), |(at, _)| at);
        rest[..end].split("\\n").next().unwrap_or_default()
    });
    let all = quoted.chain(typed).chain(examples).map(|words| words.replace("\\\"", "\""));
    all.filter(|words| words.starts_with("acquit ")).collect()
}

/// Splits a command into words like a shell, up to a pipe, redirection or the next command.
fn words(command: &str) -> Vec<String> {
    let (mut all, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for char in command.chars().chain([' ']) {
        match char {
            '"' => quoted = !quoted,
            ' ' if !quoted => all.push(std::mem::take(&mut word)),
            char => word.push(char),
        }
    }
    all.retain(|word| !word.is_empty());
    let end = all.iter().position(|word| ["|", ">", "<", "&&", "#", ";"].contains(&word.as_str()));
    all.truncate(end.unwrap_or(all.len()));
    all
}

/// Verbs that acquit starts itself, unknown to the command-line parser.
const OWN: [&str; 5] = [
    acquit_run::acp::VERB,
    acquit_run::agent::SCRIPTED_VERB,
    acquit_run::mcp::VERB,
    acquit_run::process::contain::VERB,
    acquit_run::syntax::VERB,
];

/// Returns why a command cannot exist: an unknown verb or option. Does not check values.
fn refused(command: &str) -> Option<String> {
    use clap::error::ErrorKind::{InvalidSubcommand, UnknownArgument};
    let mut words = words(&command.replace(['[', ']'], ""));
    // Ignore a final ellipsis.
    words.pop_if(|word| word == "…");
    if words.get(1).is_some_and(|verb| OWN.contains(&verb.as_str())) {
        return None;
    }
    // Fill in placeholders.
    let is_gap = |word: &String| word == "…" || word.starts_with(['{', '<']);
    let filled = words.into_iter().map(|word| if is_gap(&word) { "T-1".to_owned() } else { word });
    let error = Args::try_parse_from(filled.collect::<Vec<_>>()).err()?;
    let wrong = matches!(error.kind(), InvalidSubcommand | UnknownArgument);
    wrong.then(|| format!("{command}: {}", error.to_string().lines().next().unwrap_or_default()))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let is_text = |end: &std::ffi::OsStr| ["rs", "md", "toml", "html"].iter().any(|it| end == *it);
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(is_text) {
            found.push(path);
        }
    }
}

/// Checks that messages, hints, help and pages name only existing commands and options.
#[test]
fn every_command_that_is_named_anywhere_exists() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![top.join("README.md"), top.join("ARCHITECTURE.md")];
    files(&top.join("docs"), &mut found);
    // These quote requirements, which may not be implemented.
    let quotes = ["coverage.md", "specification.md", "seeds"].map(|name| top.join("docs").join(name));
    found.retain(|path| !quotes.iter().any(|quote| path.starts_with(quote)));
    for name in ["core", "run", "app", "cli", "web", "sandbox", "store"] {
        files(&top.join("crates").join(name).join("src"), &mut found);
    }
    let (mut count, mut wrong) = (0, std::collections::BTreeSet::new());
    for path in found {
        for command in commands(&std::fs::read_to_string(&path).unwrap()) {
            count += 1;
            wrong.extend(refused(&command).map(|why| format!("{}: {why}", path.display())));
        }
    }
    assert!(count > 200, "{count}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(refused("acquit shwo T-1").is_some() && refused("acquit show T-1 --stat").is_some());
}

#[test]
fn a_task_is_done_by_the_same_means_however_it_is_made() {
    let help = |verb: &str| {
        let mut command = Args::command();
        let verb = command.find_subcommand_mut(verb).unwrap();
        let options = ["workflow", "agent", "model"];
        options.map(|name| {
            let arg = verb.get_arguments().find(|arg| arg.get_id() == name).unwrap();
            (arg.get_short(), arg.get_help().unwrap().to_string())
        })
    };
    let (run, review) = (help("run"), help("review"));
    assert_eq!(run[0], (Some('w'), "Use this workflow".to_owned()));
    assert_eq!(review[0], (Some('w'), "Another workflow than `review`".to_owned()));
    assert_eq!(run[1..], review[1..]);
    for verb in ["run", "review"] {
        let read = |model: &str| Args::try_parse_from(["acquit", verb, "x", "--model", model]);
        assert!(read("opus").is_ok() && read("").is_err() && read("two words").is_err(), "{verb}");
    }
}

#[test]
fn a_verb_that_is_below_another_is_suggested_with_it() {
    let said = |words: &[&str]| {
        let mut error = Args::try_parse_from(words).expect_err("no such verb");
        super::suggest_nested(&mut error);
        error.render().to_string()
    };
    assert!(said(&["acquit", "retry", "T-1"]).contains("'task retry'"));
    assert!(said(&["acquit", "list"]).contains("'task list'"));
    assert!(said(&["acquit", "merg", "T-1"]).contains("'merge'"));
}
