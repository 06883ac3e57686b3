//! Which options of a verb can be given together: each pair must act together or be refused.

use std::collections::BTreeSet;

use clap::CommandFactory;

use super::Args;

/// Options that act together, by verb. Every pair of a verb's options must be in one of its lines, or the command line
/// must refuse it. A new option therefore needs a decision here.
///
/// Some pairs depend on the value of an argument, such as `run TITLE --pinned`. The verb itself refuses these, and
/// `relay/flags.rs` shows it.
const TOGETHER: &[(&str, &[&str])] = &[
    ("init", &["force fix", "force no-check"]),
    ("ci", &["from force"]),
    ("clean", &["dry-run others"]),
    (
        "prove",
        &[
            "quick fresh save trust-base reduced allow format comment attest sign C staged",
            "quick fresh save trust-base reduced allow format comment attest sign C working-tree",
            "quick fresh save trust-base reduced allow format comment attest sign C base",
            "quick fresh trust-base reduced allow C base hook",
            "quick fresh trust-base reduced allow C staged hook",
            "quick fresh trust-base reduced allow C working-tree hook",
        ],
    ),
    ("verify", &["signed allowed-signers"]),
    (
        "run",
        &[
            "description workflow agent model base priority tag size complexity ticket meta var max-cost max-time \
           pinned",
        ],
    ),
    ("review", &["base workflow agent model"]),
    (
        "task add",
        &[
            "description workflow agent model base priority tag size complexity ticket meta var max-cost max-time",
        ],
    ),
    (
        "task list",
        &[
            "all-projects state tag older-than newer-than limit",
            "project state tag older-than newer-than limit",
        ],
    ),
    ("task edit", &["priority size complexity ticket meta unset tag untag"]),
    ("task retry", &["stage note pinned"]),
    ("inbox", &["list all-projects limit"]),
    // `--leg` and `--raw` mean the same of different legs.
    ("logs", &["follow leg raw", "follow all"]),
    ("workflow eject", &["only force"]),
    ("prompt show", &["stage workflow section"]),
    (
        "serve",
        &[
            "once drain workers",
            "drain workers no-web",
            "drain workers listen open tls-cert tls-key origin",
            "drain workers listen open behind-proxy",
        ],
    ),
    ("worker", &["store labels slots name trust-store hand-back", "name healthy"]),
    ("service install", &["name system dry-run"]),
    ("service status", &["name system"]),
    ("service uninstall", &["name system dry-run"]),
    ("config show", &["origin workflow agent model var"]),
    ("sandbox", &["network host read write reduced print"]),
    ("stats", &["all-projects since limit"]),
];

/// Walks through the verbs that people use.
fn verbs<'c>(command: &'c clap::Command, path: &str, found: &mut Vec<(String, &'c clap::Command)>) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let path = format!("{path} {}", below.get_name()).trim().to_owned();
        verbs(below, &path, found);
        found.push((path, below));
    }
}

fn name(arg: &clap::Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_short().into_iter().collect(), str::to_owned)
}

/// Whether the command line refuses the two, by either's conflicts or by a group that takes one of them.
fn refused(verb: &clap::Command, one: &clap::Arg, other: &clap::Arg) -> bool {
    let against = |one: &clap::Arg, other: &clap::Arg| {
        verb.get_arg_conflicts_with(one).iter().any(|arg| arg.get_id() == other.get_id())
    };
    let grouped = verb.get_groups().filter(|group| !(*group).clone().is_multiple()).any(|group| {
        let has = |arg: &clap::Arg| group.get_args().any(|id| id == arg.get_id());
        has(one) && has(other)
    });
    against(one, other) || against(other, one) || grouped
}

#[test]
fn options_that_can_be_given_together_all_act() {
    let mut command = Args::command();
    command.build();
    let mut found = Vec::new();
    verbs(&command, "", &mut found);
    let mut wrong = BTreeSet::new();
    for (path, verb) in &found {
        let options: Vec<&clap::Arg> = verb
            .get_arguments()
            .filter(|arg| !arg.is_positional() && !arg.is_global_set() && !arg.is_hide_set())
            .filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
            .collect();
        let rows: Vec<Vec<&str>> = TOGETHER
            .iter()
            .filter(|(verb, _)| verb == path)
            .flat_map(|(_, rows)| {
                rows.iter().map(|row| row.split(' ').filter(|word| !word.is_empty()).collect())
            })
            .collect();
        for unknown in rows.iter().flatten().filter(|word| options.iter().all(|arg| name(arg) != **word)) {
            wrong.insert(format!("{path}: there is no option {unknown}"));
        }
        for (index, one) in options.iter().enumerate() {
            for other in &options[index + 1..] {
                let (a, b) = (name(one), name(other));
                let together = rows.iter().any(|row| row.contains(&a.as_str()) && row.contains(&b.as_str()));
                match (together, refused(verb, one, other)) {
                    (true, true) => wrong.insert(format!("{path}: {a} and {b} are refused")),
                    (false, false) => wrong.insert(format!("{path}: do {a} and {b} both act?")),
                    (true, false) | (false, true) => false,
                };
            }
        }
    }
    let paths: BTreeSet<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    wrong.extend(
        TOGETHER.iter().filter(|(verb, _)| !paths.contains(verb)).map(|(verb, _)| format!("no verb {verb}")),
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
