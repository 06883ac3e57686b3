//! Runs attacks and says everything that is wrong, not only the first.

use std::collections::BTreeSet;

use acquit_core::leg::Ending;
use acquit_core::sandbox::Network;

use crate::arena::{Arena, Leg, Role};
use crate::expected::{self, Expect, Part};

/// What `wipe-output` says before it wipes.
const BEFORE: &str = "words before the record was emptied";

/// Runs the attacks of a part; fails with all that got through.
pub(crate) fn held(role: Role, network: Network, part: Part) {
    let mut attacks = expected::of(part);
    // One attack alone, for whoever mends what it found.
    if let Ok(only) = std::env::var("ACQUIT_HOSTILE_ONLY") {
        attacks.retain(|(verb, _)| only.split(',').any(|one| one == *verb));
    }
    let verbs: Vec<&str> = attacks.iter().map(|(verb, _)| *verb).collect();
    let (shared, own): (&[&str], &[&str]) = match part {
        Part::Shared => (&verbs, &[]),
        Part::Own | Part::Bomb | Part::BombOfEachLimit => (&[], &verbs),
    };
    let mut arena = Arena::new(role, network, shared, own);
    let mut wrong = Vec::new();
    let mut lines = Vec::new();
    match part {
        Part::Shared => {
            let leg = arena.run("shared");
            wrong.extend(arena.harm(&leg));
            if !matches!(leg.endings.first(), Some(Ending::Passed { .. })) {
                wrong.push(format!("the leg: {:?}\n{}{}", leg.endings, leg.ran.out, leg.ran.err));
            }
            for (verb, expect) in &attacks {
                lines.push(line(&leg.said, verb).unwrap_or("").to_owned());
                wrong.extend(judge(&leg, verb, *expect, role, network));
            }
        }
        Part::Own | Part::Bomb | Part::BombOfEachLimit => {
            for (verb, expect) in &attacks {
                let begun = std::time::Instant::now();
                let leg = arena.run(verb);
                let took = begun.elapsed().as_millis();
                lines.push(format!(
                    "{took} ms: {} -> {}",
                    line(&leg.said, verb).unwrap_or("(silent)"),
                    ending(&leg)
                ));
                wrong.extend(arena.harm(&leg).into_iter().map(|harm| format!("{verb}: {harm}")));
                wrong.extend(judge(&leg, verb, *expect, role, network));
            }
        }
    }
    // An attack on what this machine does not have shows nothing.
    let is_absent = |line: &&String| line.contains(": error not here");
    let absent: Vec<&str> = lines.iter().filter(is_absent).filter_map(|line| verb_of(line)).collect();
    println!("not here: {}", absent.join(", "));
    let unexpected = absent.iter().filter(|verb| !expected::may_be_absent(verb, role, network));
    wrong.extend(unexpected.map(|verb| format!("{verb}: this machine lacks what it attacks")));
    if std::env::var_os("ACQUIT_HOSTILE_ONLY").is_some() {
        println!("{}", lines.join("\n"));
    }
    let (wrong_count, all) = (wrong.len(), attacks.len());
    assert!(
        wrong.is_empty(),
        "{role:?} with network {network}: {wrong_count} things are wrong after {all} attacks\n{}\n--- what the attacker said\n{}",
        wrong.join("\n"),
        lines.join("\n")
    );
}

/// Runs the attacks that can share a leg where the machine has no user namespaces; fails unless exactly these get through.
pub(crate) fn reduced(not_held: &[&str]) {
    let attacks = expected::of(Part::Shared);
    let verbs: Vec<&str> = attacks.iter().map(|(verb, _)| *verb).collect();
    let mut arena = Arena::new(Role::Agent, Network::Off, &verbs, &[]);
    let leg = arena.run("shared");
    let words = format!("{:?}\n{}{}", leg.endings, leg.ran.out, leg.ran.err);
    assert!(matches!(leg.endings.first(), Some(Ending::Passed { .. })), "the leg: {words}");
    assert!(
        words.contains("namespaces of its own") || leg.shown.contains("namespaces of its own"),
        "{words}"
    );
    // An attack that could not be made at all did not get through; one that said nothing did, for all that is known.
    let is_made = |verb: &str| {
        !line(&leg.said, verb).is_some_and(|line| line.starts_with(&format!("attack {verb}: error ")))
    };
    let through: Vec<&str> = attacks
        .iter()
        .filter(|(verb, expect)| {
            judge(&leg, verb, *expect, Role::Agent, Network::Off).is_some() && is_made(verb)
        })
        .map(|(verb, _)| *verb)
        .collect();
    println!("not held without user namespaces: {}", through.join(", "));
    let said: Vec<&str> = through.iter().filter_map(|verb| line(&leg.said, verb)).collect();
    let as_set = |list: &[&str]| list.iter().map(|&verb| verb.to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(as_set(&through), as_set(not_held), "{}", said.join("\n"));
}

/// What the attacker said of a verb.
fn line<'a>(said: &'a str, verb: &str) -> Option<&'a str> {
    let begin = format!("attack {verb}: ");
    said.lines().find_map(|line| line.find(&begin).map(|at| &line[at..]))
}

/// The verb of such a line.
fn verb_of(line: &str) -> Option<&str> {
    line.split_once("attack ")?.1.split_once(": ").map(|(verb, _)| verb)
}

fn ending(leg: &Leg) -> String {
    let text = match leg.endings.first() {
        None => format!("no ending: {}{}", leg.ran.out, leg.ran.err),
        Some(Ending::Passed { .. }) => "passed".to_owned(),
        Some(Ending::Rejected { failures, .. }) => {
            format!("rejected: {}", failures.first().map_or("", |failure| failure.message.as_str()))
        }
        Some(Ending::Failed { kind, reason }) => format!("failed {kind}: {reason}"),
        Some(Ending::TimedOut { reason }) => format!("timed out: {reason}"),
        Some(other) => format!("{other:?}"),
    };
    text.replace('\n', " ").chars().take(300).collect()
}

/// What is wrong with an attack's own line and ending.
fn judge(leg: &Leg, verb: &str, expect: Expect, role: Role, network: Network) -> Option<String> {
    let said = line(&leg.said, verb);
    let result = said.map(|line| &line[format!("attack {verb}: ").len()..]);
    let refused =
        result.is_some_and(|result| result.starts_with("refused ") || result.starts_with("error not here"));
    let done = result.is_some_and(|result| result.starts_with("done "));
    // The event log names it: what an agent said is in the transcript, the end of what a gate said in its event.
    let named = leg.shown.contains(&format!("attack {verb}: "));
    let how = ending(leg);
    let in_order = matches!(
        leg.endings.first(),
        Some(
            Ending::Passed { .. } | Ending::Rejected { .. } | Ending::Failed { .. } | Ending::TimedOut { .. }
        )
    );
    let without_verdict = matches!(leg.endings.first(), Some(Ending::Held { .. }));
    let fine = match expect {
        Expect::Refused => refused && named,
        Expect::UnlessRoot => (refused || rustix::process::geteuid().is_root() && done) && named,
        Expect::Offline => (refused || network == Network::Open && done) && named,
        Expect::Inside => (refused || done) && named,
        Expect::Granted => (if network == Network::Model { done } else { refused }) && named,
        // A gate that is killed and that no limit killed has no verdict: the work does not pass.
        Expect::Left if role == Role::Gate && without_verdict => said.is_some(),
        Expect::Left => in_order && named,
        Expect::Kept => in_order && (leg.shown.contains(BEFORE) || leg.said.contains(BEFORE)),
        Expect::Guardrail => match role {
            Role::Agent => how.starts_with("failed guardrail") && named,
            Role::Gate => in_order && named,
        },
        Expect::Output => match role {
            Role::Agent => how.contains("printed more than"),
            // Its limit is 256 MiB and what it writes until it is ended; the attacker would write more.
            Role::Gate => in_order && leg.said.len() <= 300 * 1024 * 1024,
        },
        Expect::Limit(word) => in_order && (refused && named || how.contains(word)),
    };
    let how = if expect.part() == Part::Shared { String::new() } else { format!(" -> {how}") };
    (!fine).then(|| format!("{verb}: expected {expect:?}: {}{how}", said.unwrap_or("it said nothing")))
}
