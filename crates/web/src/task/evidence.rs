//! Claims of agents next to the verdicts of gates, with the evidence of each verdict.

use acquit_app::history::{changed_since, commit_at};
use acquit_core::gate::{Evidence, Finding, Runs, TestRuns, Verdict, Weight};
use acquit_core::leg::Ending;
use acquit_core::task::{End, State};
use maud::{Markup, html};

use super::view::View;
use crate::page::Sign;
use crate::words;

/// Renders the verdicts by leg, and the newest evidence of each gate.
pub(super) fn gates(view: &View<'_>) -> Markup {
    let newest = view.history.newest_verdicts();
    let done = matches!(view.task.state, State::Ended { end: End::Done });
    // Who decides about the work looks at its tests.
    let asks = matches!(view.task.state, State::Waiting { .. });
    html! {
        @if !newest.is_empty() {
            section.panel aria-labelledby="gates-h" {
                header.panel-head.row { h2 #gates-h { "Gates" } p.hint { "What was executed decides; what an agent says does not." } }
                (by_leg(view))
                p.leg-name { b { "Evidence" } span.dim { "the newest run of each gate" (judged(view)) } }
                ul.rows.gates { @for verdict in newest { (gate(verdict, verdict.rejects() && !done || asks && !verdict.evidence.tests.is_empty())) } }
            }
        }
    }
}

/// Says what was judged last: the leg, its commit and the base.
fn judged(view: &View<'_>) -> Markup {
    let task = view.task;
    let last = view.history.verdicts.last().map(|(leg, _)| *leg);
    html! {
        @if let Some(leg) = last {
            ": leg " (leg)
            @if let Some(commit) = commit_at(task, leg) { ", commit " code { (words::short(commit)) } }
            ", on " (words::line(task.seed.base.branch.as_deref().unwrap_or("a commit"), 60)) " at " code { (words::short(task.base())) }
            @if let Some(later) = changed_since(task, leg) { ". Leg " (later) " changed it since: not judged yet" }
        }
    }
}

/// Renders a line for each judged leg: the agent's claim, and the proven result.
fn by_leg(view: &View<'_>) -> Markup {
    let mut judged: Vec<u32> = view.history.verdicts.iter().map(|(leg, _)| *leg).collect();
    judged.dedup();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Verdicts by leg" { table.verdicts.stacked {
            thead { tr { th scope="col" { "leg" } th scope="col" { "the agent said" } th scope="col" { "the gates showed" } } }
            tbody { @for number in judged {
                @let past = view.task.past.iter().find(|past| past.number == number);
                @let heading = view.legs.iter().find(|leg| leg.id.number == number).map(|leg| words::heading(&leg.entry)).unwrap_or_default();
                @let said = past.and_then(|past| match &past.ending { Ending::Passed { outcome } | Ending::Rejected { outcome, .. } => Some(outcome), _ => None });
                tr {
                    th scope="row" { a href={ "/tasks/" (view.task.id()) "/legs/" (number) } { (heading) " · leg " (number) } }
                    td.dim { @match said { Some(outcome) => { (outcome.name) @if let Some(summary) = outcome.summary() { ": “" (words::line(&summary, 160)) "”" } }, None => "–" } }
                    td { (shown(view, number)) }
                }
            } }
        } }
    }
}

fn shown(view: &View<'_>, leg: u32) -> Markup {
    let all: Vec<&Verdict> = view.history.of_leg(leg).collect();
    let rejecting: Vec<&str> =
        all.iter().filter(|verdict| verdict.rejects()).map(|verdict| verdict.gate.as_str()).collect();
    let red: usize = all.iter().map(|verdict| verdict.evidence.red.len()).sum();
    html! {
        @if rejecting.is_empty() {
            (Sign::Proven.bare()) b.ok { "passed " (words::count(all.len(), "gate")) }
            @if red > 0 { ": " (words::count(red, "test")) " red → green" }
        } @else {
            (Sign::Rejected.bare()) b.no { "rejected" } " by " (rejecting.join(", "))
        }
    }
}

fn gate(verdict: &Verdict, open: bool) -> Markup {
    let sign = match (verdict.passed, verdict.rejects()) {
        (true, _) => Sign::Proven,
        (false, true) => Sign::Rejected,
        (false, false) => Sign::Noted,
    };
    let evidence = &verdict.evidence;
    html! {
        li id={ "gate-" (verdict.gate) } {
            details id={ "gate-fold-" (verdict.gate) } open[open] {
                summary {
                    (sign.named()) b { (verdict.gate) }
                    span.gate-words { (headline(evidence, &verdict.ended)) }
                    span.dim.end { @if let Some(leg) = verdict.reused { "same work as in leg " (leg) " · " } (words::length(verdict.took.duration())) }
                }
                p { code { (words::line(&verdict.command, 300)) } " " span.dim { (words::line(&verdict.ended, 100)) } }
                @if evidence.figures.len() > 1 { p { @for figure in &evidence.figures { span.tag { (words::line(&figure.what, 60)) " " (words::line(&figure.value, 60)) } " " } } }
                (tests(verdict))
                @for finding in evidence.findings.iter().filter(|finding| !is_test(finding)) { (finding_line(finding)) }
                @if evidence.more > 0 { p.dim { (words::count(evidence.more as usize, "more finding")) } }
                @if let Some(failure) = &verdict.failure {
                    pre { (words::text(&failure.message)) }
                    @if let (Some(place), Some(excerpt)) = (&failure.location, &failure.excerpt) {
                        p.dim { code { (words::line(&place.path, 200)) ":" (place.line) } " as it was judged" }
                        (excerpt_lines(excerpt, place.line))
                    }
                } @else if !verdict.tail.trim().is_empty() { details.fold { summary { "output" } pre { (words::text(&verdict.tail)) } } }
            }
        }
    }
}

/// Summarizes the findings of a gate in a few words.
fn headline(evidence: &Evidence, ended: &str) -> String {
    let failing = evidence.failing().count();
    // Rejections come first: tests that turned green prove nothing then.
    if failing > 0 {
        return words::count(failing + evidence.more as usize, "finding");
    }
    if !evidence.red.is_empty() {
        return format!("{} red → green", words::count(evidence.red.len(), "test"));
    }
    match evidence.figures.first() {
        Some(figure) => format!("{} {}", words::line(&figure.what, 60), words::line(&figure.value, 60)),
        None => words::line(ended, 100),
    }
}

/// Rules whose findings are about one test each.
const TEST_RULES: [&str; 11] = [
    "never-red",
    "weak-red",
    "error-red",
    "crash-red",
    "timeout-red",
    "compile-red",
    "new-failure",
    "not-run",
    "now-skipped",
    "base-red",
    "flaky",
];

fn is_test(finding: &Finding) -> bool {
    TEST_RULES.contains(&finding.rule.as_str())
}

/// Renders a row for each test: its result without the change and with it.
fn tests(verdict: &Verdict) -> Markup {
    let evidence = &verdict.evidence;
    let of_test = |test: &TestRuns| {
        let is_it = |finding: &&Finding| finding.rule == test.rule && finding.message.starts_with(&test.test);
        evidence.findings.iter().find(is_it)
    };
    let shown: Vec<&Finding> = evidence.tests.iter().filter_map(of_test).collect();
    let rest = |finding: &&Finding| is_test(finding) && !shown.contains(finding);
    let others: Vec<&Finding> = evidence.findings.iter().filter(rest).collect();
    // Stores of earlier versions have the names alone.
    let names = if evidence.tests.is_empty() { evidence.red.as_slice() } else { &[] };
    html! {
        @if !evidence.tests.is_empty() || !names.is_empty() || !others.is_empty() {
            div.scroll tabindex="0" role="region" aria-label={ "Tests of " (verdict.gate) } { table.evidence.stacked {
                thead { tr { th scope="col" { "test" } th scope="col" { "without the change" } th scope="col" { "with it" } th scope="col" { "class" } } }
                tbody {
                    @for test in &evidence.tests {
                        tr.bad[of_test(test).is_some_and(|finding| finding.weight != Weight::Noted)] {
                            th scope="row" { code { (words::line(&test.test, 200)) } }
                            td { (ended(test.without, &test.rule)) @if !test.said.is_empty() { details.fold { summary { "why" } pre { (words::text(&test.said)) } } } }
                            td { (ended(test.with, "")) }
                            td.dim { (words::line(&test.rule, 60)) }
                        }
                    }
                    @for test in names {
                        tr { th scope="row" { code { (words::line(test, 200)) } } td { (Sign::Rejected.bare()) "fails by assertion" } td { (Sign::Proven.bare()) "passes" } td.dim { "assert-red" } }
                    }
                    @for finding in others {
                        @let (first, rest) = first_line(&finding.message);
                        tr.bad[finding.weight != Weight::Noted] {
                            th.light scope="row" colspan="3" { (words::line(first, 300)) @if !rest.is_empty() { details.fold { summary { "all of it" } pre { (words::text(rest)) } } } }
                            td { (words::line(&finding.rule, 60)) }
                        }
                    }
                }
            } }
        }
    }
}

/// Says how a test ended, and in how many runs.
fn ended(runs: Runs, rule: &str) -> Markup {
    let how = match rule {
        "assert-red" => " by an assertion",
        "crash-red" => " by a crash of the code",
        _ => "",
    };
    html! {
        @if runs.of == 0 { (Sign::Without.bare()) "was not run" }
        @else if runs.failed == 0 { (Sign::Proven.bare()) "passes" (times(runs.of, runs.of)) }
        @else { (Sign::Rejected.bare()) "fails" (how) (times(runs.failed, runs.of)) }
    }
}

fn times(times: u32, of: u32) -> String {
    if of > 1 { format!(", {times} of {of} runs") } else { String::new() }
}

/// Splits a message into its first line and the rest.
fn first_line(message: &str) -> (&str, &str) {
    let message = message.trim();
    message.split_once('\n').map_or((message, ""), |(first, rest)| (first.trim_end(), rest.trim_end()))
}

fn finding_line(finding: &Finding) -> Markup {
    html! {
        p.finding {
            @if finding.weight == Weight::Noted { (Sign::Noted.named()) } @else { (Sign::Rejected.named()) }
            span {
                b { (words::line(&finding.rule, 60)) } " "
                @if let Some(place) = &finding.location { code { (words::line(&place.path, 200)) ":" (place.line) } " " }
                (words::text(&finding.message))
            }
        }
    }
}

/// Renders numbered lines around a location, with the location marked.
pub(crate) fn excerpt_lines(excerpt: &str, line: u32) -> Markup {
    let number = |text: &str| {
        text.trim_start()
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|digits| digits.parse::<u32>().ok())
    };
    html! { div.patch { @for text in excerpt.lines() { pre.hit[number(text) == Some(line)] { (words::text(text)) @if text.is_empty() { " " } } } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rejects_is_told_before_what_turned_green() {
        let mut evidence = Evidence { red: vec!["a".to_owned()], ..Evidence::default() };
        assert_eq!(headline(&evidence, "passed"), "1 test red → green");
        let (rule, message) = ("new-failure".to_owned(), "b fails".to_owned());
        evidence.findings.push(Finding { weight: Weight::Fails, rule, message, location: None });
        assert_eq!(headline(&evidence, "1 finding"), "1 finding");
    }

    #[test]
    fn each_test_is_shown_without_the_change_and_with_it() {
        let shown = |of, failed, rule: &str| {
            let text = ended(Runs { of, failed }, rule).into_string();
            text.rsplit('>').next().unwrap_or_default().to_owned()
        };
        assert_eq!(shown(3, 3, "assert-red"), "fails by an assertion, 3 of 3 runs");
        assert_eq!(shown(1, 1, "crash-red"), "fails by a crash of the code");
        assert_eq!(shown(3, 0, ""), "passes, 3 of 3 runs");
        assert_eq!(shown(0, 0, "not-run"), "was not run");
    }

    #[test]
    fn a_message_is_its_first_line_and_the_rest_is_folded() {
        assert_eq!(
            first_line("t > x is new and fails\nTraceback\n  File\n"),
            ("t > x is new and fails", "Traceback\n  File")
        );
        assert_eq!(first_line(" one line "), ("one line", ""));
    }
}
