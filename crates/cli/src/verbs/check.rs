//! `acquit check`: setup and every gate on the untouched base, in the sandbox, with the edit that mends what does not hold.

use std::io::{BufRead, IsTerminal};

use acquit_core::event::Level;
use acquit_core::gate::Verdict;
use serde_json::json;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::foreground::{self, Part};
use crate::report::{Look, text};
use acquit_app::Error;
use acquit_app::check::problem::{Consent, Mend, Place, Problem};
use acquit_app::check::{Rehearsal, rehearse};

/// How often it is tried again after an edit: each round can bring up the next problem, and one that comes back is not mended.
const ROUNDS: usize = 6;

/// The file that is edited.
const CONFIG: &str = ".acquit/acquit.toml";

/// Who decides about edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// A person, if one is at the terminal.
    Ask,
    /// The same, except for edits that need nobody's consent in a file that acquit has just written.
    Own,
    /// All are made.
    All,
}

/// Checks, mends what may be mended, and says how it is.
pub fn check(cli: &Cli, fix: Fix) -> Result<Exit, Error> {
    let (exit, report) = examine(cli, fix)?;
    if cli.printer.json {
        cli.printer.json(&report);
    }
    Ok(exit)
}

/// Checks, and mends what may be mended. Gives what it came to as JSON; people are told as it goes.
pub fn examine(cli: &Cli, fix: Fix) -> Result<(Exit, serde_json::Value), Error> {
    let mut applied: Vec<String> = Vec::new();
    let notes = notes(cli)?;
    notes.iter().for_each(|note| cli.printer.say(&format!("note: {note}")));
    for round in 1.. {
        let rehearsal = rehearse(&cli.app, &mut |app, store, id| {
            // Progress is told in words, to standard error; the result comes at the end.
            let printer = cli.printer.in_words();
            foreground::follow(app, printer, store, id, Part::Runs, Level::Info, 0)
        })?;
        let chosen: Vec<Mend> = if round < ROUNDS && !rehearsal.cancelled {
            rehearsal.problems.iter().filter_map(|problem| choose(cli, problem, fix, &applied)).collect()
        } else {
            Vec::new()
        };
        let made = apply(cli, &chosen)?;
        if made.is_empty() {
            let (exit, mut report) = finish(cli, &rehearsal, &applied);
            report["notes"] = json!(notes);
            return Ok((exit, report));
        }
        for mend in made {
            cli.printer.say(&format!("edited .acquit/acquit.toml: {}", mend.words));
            applied.push(mend.words);
        }
    }
    unreachable!("the last round chooses nothing")
}

/// What the project asks for and this machine does not have: gates run with something else then.
fn notes(cli: &Cli) -> Result<Vec<String>, Error> {
    let source = cli.app.source()?;
    let wanted = acquit_run::versions::wanted(source.top(), &cli.app.surroundings.environment);
    let missing = wanted.into_iter().filter(|wanted| wanted.bin.is_none());
    let words = missing.map(|it| {
        let version = text::line(&it.version, 60);
        format!(
            "{} asks for {} {version}, which no version manager here has: gates use the one in PATH",
            it.file, it.language
        )
    });
    Ok(words.collect())
}

/// The edit for a problem that is to be made.
fn choose(cli: &Cli, problem: &Problem, fix: Fix, applied: &[String]) -> Option<Mend> {
    let mend = problem.mends.iter().find(|mend| !applied.contains(&mend.words))?;
    let agreed = match (fix, mend.consent) {
        (Fix::All, Consent::Nobody | Consent::User) | (Fix::Own, Consent::Nobody) => true,
        _ if cli.printer.json || !cli.printer.live || !std::io::stdin().is_terminal() => false,
        _ => {
            show(cli, problem);
            cli.printer.say(&format!("{}\n{}\nMake this edit? [Y/n]", mend.words, mend.edit.lines()));
            let mut answer = String::new();
            let read = std::io::stdin().lock().read_line(&mut answer);
            let answer = answer.trim().to_ascii_lowercase();
            read.is_ok_and(|bytes| bytes > 0) && matches!(answer.as_str(), "" | "y" | "yes")
        }
    };
    agreed.then(|| mend.clone())
}

/// Makes the edits; those that could be made.
fn apply(cli: &Cli, mends: &[Mend]) -> Result<Vec<Mend>, Error> {
    if mends.is_empty() {
        return Ok(Vec::new());
    }
    let source = cli.app.source()?;
    let path = source.top().join(CONFIG);
    let file = |doing: &'static str| {
        let path = path.clone();
        move |source| Error::File { doing, path, source }
    };
    let mut text = std::fs::read_to_string(&path).map_err(file("read"))?;
    let mut made = Vec::new();
    for mend in mends {
        if let Some(edited) = mend.edit.apply(&text) {
            text = edited;
            made.push(mend.clone());
        }
    }
    if !made.is_empty() {
        // Whole or not at all: a name beside it, then in its place.
        let fresh = path.with_extension("toml.new");
        std::fs::write(&fresh, &text).map_err(file("write"))?;
        std::fs::rename(&fresh, &path).map_err(file("write"))?;
        // The user asked for these edits, of a file that was trusted.
        cli.app.trust_written(&source, &[(CONFIG.into(), text)])?;
    }
    Ok(made)
}

/// Says what holds and what does not.
fn finish(cli: &Cli, rehearsal: &Rehearsal, applied: &[String]) -> (Exit, serde_json::Value) {
    let printer = cli.printer;
    let Rehearsal { verdicts, left_out, problems, cancelled } = rehearsal;
    let holds = problems.is_empty() && !cancelled;
    let gates: Vec<_> = verdicts
        .iter()
        .map(|it| json!({ "gate": it.gate, "passed": it.passed, "severity": it.severity, "took": it.took, "evidence": it.evidence }))
        .collect();
    let not_run: Vec<_> = left_out.iter().map(|(gate, why)| json!({ "gate": gate, "why": why })).collect();
    let report = json!({
        "holds": holds, "gates": gates, "not_run": not_run, "problems": problems, "edits": applied,
    });
    if !printer.json {
        for verdict in verdicts {
            printer.data(&line(cli, verdict));
        }
        for (gate, why) in left_out {
            printer.data(&printer.paint(Look::Faint, &format!("- {gate}: not run here, {why}")));
        }
        for problem in problems {
            show(cli, problem);
            for mend in problem.mends.iter().take(1) {
                printer.say(&format!("  mend: {}\n{}", mend.words, indented(&mend.edit.lines())));
            }
        }
        match (cancelled, problems.is_empty(), problems.iter().all(|it| it.mends.is_empty())) {
            (true, ..) => {}
            (_, true, _) => printer.say(&printer.paint(Look::Good, "everything holds: tasks can run here")),
            (_, _, true) => printer.say("tasks cannot pass here yet"),
            _ => printer.say("tasks cannot pass here yet: `acquit check --fix` makes these edits"),
        }
    }
    let exit = match (cancelled, holds) {
        (true, _) => Exit::Cancelled,
        (false, true) => Exit::Done,
        (false, false) => Exit::Failed,
    };
    (exit, report)
}

fn line(cli: &Cli, verdict: &Verdict) -> String {
    let printer = cli.printer;
    let (mark, look) = match (verdict.passed, verdict.rejects()) {
        (true, _) => ("✓", Look::Good),
        (false, true) => ("✗", Look::Bad),
        (false, false) => ("!", Look::Notable),
    };
    let figures: Vec<String> = verdict
        .evidence
        .figures
        .iter()
        .filter(|it| it.what == "tests")
        .map(|it| format!(" · {} tests", it.value))
        .collect();
    let already = verdict.evidence.findings.iter().filter(|it| it.rule.contains("before")).count();
    let already = if already > 0 { format!(" · {already} fail already") } else { String::new() };
    let warns = if mark == "!" { " · fails, but only warns" } else { "" };
    format!(
        "{} {} {}{}{already}{warns}",
        printer.paint(look, mark),
        verdict.gate,
        verdict.took,
        figures.concat()
    )
}

fn show(cli: &Cli, problem: &Problem) {
    let printer = cli.printer;
    let name = match &problem.place {
        Place::Setup => "setup".to_owned(),
        Place::Gate(name) => name.to_string(),
    };
    printer.say(&format!("\n{} {}", printer.paint(Look::Bad, "✗"), printer.paint(Look::Strong, &name)));
    printer.say(&format!("  {}", text::line(&problem.what, 200)));
    for said in &problem.said {
        printer.say(&printer.paint(Look::Faint, &format!("  │ {}", text::line(said, 110))));
    }
    if let Some(advice) = &problem.advice {
        printer.say(&format!("  {advice}"));
    }
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
