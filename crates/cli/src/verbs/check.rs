//! `acquit check`: runs setup and every gate on the untouched base in the sandbox, and suggests edits that fix
//! failures.

use std::io::{BufRead, IsTerminal};

use acquit_core::event::Level;
use acquit_core::gate::{Verdict, rule};
use serde_json::json;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::foreground::{self, Part};
use crate::report::{Look, text};
use acquit_app::Error;
use acquit_app::check::problem::{Consent, Mend, Place, Problem};
use acquit_app::check::{Rehearsal, rehearse};

/// Maximum number of rounds of edits: each round can reveal the next problem, and a problem that returns is not
/// fixed.
const ROUNDS: usize = 6;

/// The file to edit.
const CONFIG: &str = ".acquit/acquit.toml";

/// Who decides about edits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fix {
    /// The user, if there is a terminal.
    Ask,
    /// As `Ask`, except for edits that need no consent, in a file that acquit has just written.
    Own,
    /// Apply all.
    All,
}

/// Checks, applies accepted edits, and prints the result.
pub fn check(cli: &Cli, fix: Fix) -> Result<Exit, Error> {
    let (exit, report) = examine(cli, fix)?;
    if cli.printer.json {
        cli.printer.json(&report);
    }
    Ok(exit)
}

/// Checks and applies accepted edits. Returns the result as JSON; prints progress for people.
pub fn examine(cli: &Cli, fix: Fix) -> Result<(Exit, serde_json::Value), Error> {
    let mut applied: Vec<String> = Vec::new();
    let notes = notes(cli)?;
    notes.iter().for_each(|note| cli.printer.say(&format!("note: {note}")));
    for round in 1.. {
        let rehearsal = rehearse(&cli.app, &mut |app, store, id| {
            // Print progress as text to stderr; the result comes at the end.
            let printer = cli.printer.in_words();
            foreground::follow(app, printer, store, id, Part::Rehearses, Level::Info, 0)
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

/// Lists versions that the project asks for and this machine lacks: gates run with another version then.
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

/// Returns the edit to apply for a problem.
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

/// Applies the edits. Returns those that could be applied.
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
        // Replace the file atomically: write a new one next to it, then rename.
        let fresh = path.with_extension("toml.new");
        std::fs::write(&fresh, &text).map_err(file("write"))?;
        std::fs::rename(&fresh, &path).map_err(file("write"))?;
        // The file was trusted, and the user asked for these edits.
        cli.app.trust_written(&source, &[(CONFIG.into(), text)])?;
    }
    Ok(made)
}

/// Prints which gates pass and which fail.
fn finish(cli: &Cli, rehearsal: &Rehearsal, applied: &[String]) -> (Exit, serde_json::Value) {
    let printer = cli.printer;
    // An edit that was made and did not help is not offered again.
    let open = |problem: &Problem| {
        let applied = applied.to_vec();
        problem.mends.clone().into_iter().filter(move |mend| !applied.contains(&mend.words))
    };
    let Rehearsal { verdicts, left_out, problems, cancelled, has_agent } = rehearsal;
    let holds = problems.is_empty() && !cancelled;
    let gates: Vec<_> = verdicts
        .iter()
        .map(|it| json!({ "gate": it.gate, "passed": it.passed, "severity": it.severity, "took": it.took, "evidence": it.evidence }))
        .collect();
    let not_run: Vec<_> = left_out.iter().map(|(gate, why)| json!({ "gate": gate, "why": why })).collect();
    let report = json!({
        "holds": holds, "has_agent": has_agent, "gates": gates, "not_run": not_run, "problems": problems, "edits": applied,
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
            for mend in open(problem).take(1) {
                printer.say(&format!("  mend: {}\n{}", mend.words, indented(&mend.edit.lines())));
            }
        }
        let offered: Vec<Consent> =
            problems.iter().filter_map(|problem| open(problem).next()).map(|mend| mend.consent).collect();
        let asked = offered.iter().filter(|consent| **consent == Consent::Asked).count();
        match (cancelled, problems.is_empty(), offered.len() - asked, asked) {
            (true, ..) => {}
            (_, true, ..) if *has_agent => {
                printer.say(&printer.paint(Look::Good, "everything holds: tasks can run here"));
            }
            (_, true, ..) => {
                printer.say("setup and gates hold; tasks can run here when .acquit/acquit.toml has an agent");
            }
            (_, _, 0, 0) => printer.say("tasks cannot pass here yet"),
            (_, _, 0, _) => printer.say(
                "tasks cannot pass here yet: make this edit if you agree; on a terminal, `acquit check` asks and makes it",
            ),
            (_, _, _, 0) => printer.say("tasks cannot pass here yet: `acquit check --fix` makes these edits"),
            _ => printer.say(
                "tasks cannot pass here yet: `acquit check --fix` makes these edits, except for what opens your files or network: \
                 on a terminal it asks about that",
            ),
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
    let (mark, look, warns) = match (verdict.passed, verdict.rejects()) {
        (true, _) => ("✓", Look::Good, ""),
        (false, true) => ("✗", Look::Bad, ""),
        (false, false) => ("!", Look::Notable, " · fails, but only warns"),
    };
    let figures: Vec<String> = verdict
        .evidence
        .figures
        .iter()
        .filter(|it| it.what == "tests")
        .map(|it| format!(" · {} {}", it.value, if it.value == "1" { "test" } else { "tests" }))
        .collect();
    let already = verdict.evidence.findings.iter().filter(|it| it.rule == rule::BROKEN_BEFORE).count();
    let already = if already > 0 { format!(" · {already} fail already") } else { String::new() };
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
        Place::Machine => "machine".to_owned(),
        Place::Setup => "setup".to_owned(),
        Place::Gate(name) => name.to_string(),
        Place::Agents => "agents".to_owned(),
    };
    printer.say(&format!("\n{} {}", printer.paint(Look::Bad, "✗"), printer.paint(Look::Strong, &name)));
    printer.say(&format!("  {}", text::line(&problem.what, 200)));
    // A single line is the whole reason; of several, the start of each is enough to find it in the log.
    let width = if problem.said.len() == 1 { 400 } else { 110 };
    for said in &problem.said {
        printer.say(&printer.paint(Look::Faint, &format!("  │ {}", text::line(said, width))));
    }
    if let Some(advice) = &problem.advice {
        printer.say(&format!("  {advice}"));
    }
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
