//! Lists what a repository's `.acquit/` asks for beyond a plan of work: programs, secrets, hosts, destinations for
//! data, less safety.
//!
//! [`CONFIG`] and [`WORKFLOW`] list the harmless keys: instructions, wording, frequency, and stricter limits. Every
//! other key needs trust, including unknown ones. The references contain every key, and a test requires a rule for
//! each.

use serde::Serialize;

use crate::snapshot::{Content, Snapshot};

/// One thing that `.acquit/` asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// File in `.acquit/`.
    pub file: String,
    /// Key.
    pub key: String,
    /// Value as TOML.
    pub value: String,
    /// Why it needs trust.
    pub what: What,
}

/// Kinds of things that need trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Runs a program or a command.
    Runs,
    /// Reads a secret, or passes it to a program.
    Secrets,
    /// Makes something reachable that otherwise is not.
    Reaches,
    /// Sends something somewhere.
    Sends,
    /// Is less restrictive than the default.
    LessSafe,
    /// Starts work automatically.
    Starts,
    /// Anything else that is not known to be harmless.
    Other,
}

impl What {
    /// Returns the description for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Runs => "runs programs",
            Self::Secrets => "uses secrets",
            Self::Reaches => "reaches hosts and files",
            Self::Sends => "sends work and messages",
            Self::LessSafe => "holds agents back less",
            Self::Starts => "starts work by itself",
            Self::Other => "changes other settings",
        }
    }
}

/// What a key means for trust. A pattern is a path of keys in which `*` matches any one key. It also covers all keys
/// below it.
enum Rule {
    /// Needs no trust.
    Harmless,
    /// Needs no trust with one of these values.
    HarmlessAs(&'static [&'static str], What),
    /// Needs trust.
    Asks(What),
}

use Rule::{Asks, Harmless, HarmlessAs};

/// A pattern and its rule.
type Entry = (&'static str, Rule);

/// Keys of `acquit.toml`.
const CONFIG: &[Entry] = &[
    ("workflow", Harmless),
    ("agent", Harmless),
    ("base", Harmless),
    ("branch_prefix", Harmless),
    ("at_once", Harmless),
    ("protected", Harmless),
    ("budgets", Harmless),
    ("variables", Harmless),
    ("waiting", Harmless),
    ("models", Harmless),
    ("workflows", Harmless),
    ("trusted_paths", Asks(What::LessSafe)),
    ("fetch_from", Asks(What::Reaches)),
    // Cost limits are computed with these.
    ("max_cost", Asks(What::LessSafe)),
    ("prices", Asks(What::LessSafe)),
    ("sandbox", HarmlessAs(&["on"], What::LessSafe)),
    ("limits", Asks(What::LessSafe)),
    ("setup.run", Asks(What::Runs)),
    ("setup.compile", Asks(What::Runs)),
    ("setup.env", Asks(What::Runs)),
    ("setup.lock_files", Harmless),
    ("setup.copy", Asks(What::Reaches)),
    ("setup.timeout", Harmless),
    ("agents.*.model", Harmless),
    ("agents.*.tiers", Harmless),
    ("agents.*.turns", Harmless),
    ("agents.*.report", Harmless),
    ("agents.*.billing", Harmless),
    ("agents.*.at_once", Harmless),
    // Other projects wait with it.
    ("agents.*.account", Asks(What::Other)),
    ("agents.*.secrets", Asks(What::Secrets)),
    ("agents.*.pass_env", Asks(What::Secrets)),
    ("agents.*.login", Asks(What::Secrets)),
    ("agents.*.hosts", Asks(What::Reaches)),
    ("agents.*.adapter", Asks(What::Runs)),
    ("agents.*.program", Asks(What::Runs)),
    ("agents.*.run", Asks(What::Runs)),
    ("agents.*.args", Asks(What::Runs)),
    ("agents.*.env", Asks(What::Runs)),
    ("agents.*.script", Asks(What::Runs)),
    ("secrets.*.command", Asks(What::Runs)),
    ("secrets.*.env", Asks(What::Secrets)),
    ("secrets.*.file", Asks(What::Secrets)),
    ("access.hide", Harmless),
    ("access.read", Asks(What::Reaches)),
    ("access.write", Asks(What::Reaches)),
    ("network.agents", HarmlessAs(&["off"], What::Reaches)),
    ("network.gates", HarmlessAs(&["off"], What::Reaches)),
    ("network.setup", HarmlessAs(&["off"], What::Reaches)),
    ("network.hosts", Asks(What::Reaches)),
    ("retention", Asks(What::Other)),
    ("forge.labels", Harmless),
    ("forge.reviewers", Harmless),
    ("forge.assignees", Harmless),
    ("forge.draft", Harmless),
    ("forge.squash", Harmless),
    ("forge.otherwise", Harmless),
    ("forge.cost", Harmless),
    ("forge.kind", HarmlessAs(&["none"], What::Sends)),
    ("forge.auto_merge", HarmlessAs(&["false"], What::Sends)),
    ("forge.*", Asks(What::Sends)),
    ("commit.style", Harmless),
    ("commit.template", Harmless),
    ("commit.trailer", Harmless),
    ("commit.committer", Harmless),
    ("commit.co_authors", Harmless),
    ("commit.sign", Asks(What::LessSafe)),
    ("merge", Asks(What::Sends)),
    ("schedule", Asks(What::Starts)),
    ("notify", Asks(What::Sends)),
    ("report", Asks(What::Sends)),
];

/// Keys of a workflow.
const WORKFLOW: &[Entry] = &[
    ("description", Harmless),
    ("start", Harmless),
    ("conflict", Harmless),
    ("branch_prefix", Harmless),
    ("at_once", Harmless),
    ("budgets", Harmless),
    ("variables", Harmless),
    ("variation", Harmless),
    ("modes", Harmless),
    ("stages.*.mode", Harmless),
    ("stages.*.role", Harmless),
    ("stages.*.step", Harmless),
    ("stages.*.agent", Harmless),
    ("stages.*.model", Harmless),
    ("stages.*.instructions", Harmless),
    ("stages.*.outputs", Harmless),
    ("stages.*.inputs", Harmless),
    ("stages.*.tools", Harmless),
    ("stages.*.commands", Harmless),
    ("stages.*.turns", Harmless),
    ("stages.*.enabled", Harmless),
    ("stages.*.fail_on_warning", Harmless),
    ("stages.*.timeout", Harmless),
    ("stages.*.idle", Harmless),
    ("stages.*.output", Harmless),
    // Only adds a limit to that of the task.
    ("stages.*.max_cost", Harmless),
    ("stages.*.session", Harmless),
    // Refused either way.
    ("stages.*.refused", Harmless),
    ("stages.*.approval", Harmless),
    ("stages.*.on", Harmless),
    ("stages.*.gates", Harmless),
    ("stages.*.from", Harmless),
    ("stages.*.fix", Harmless),
    ("stages.*.stop", Harmless),
    ("stages.*.kind", Harmless),
    ("stages.*.question", Harmless),
    ("stages.*.commits", Harmless),
    ("stages.*.irreversible", Harmless),
    ("stages.*.title", Harmless),
    ("stages.*.labels", Harmless),
    ("stages.*.reviewers", Harmless),
    ("stages.*.assignees", Harmless),
    ("stages.*.draft", Harmless),
    ("stages.*.squash", Harmless),
    ("stages.*.otherwise", Harmless),
    // The text, and which of the declared channels gets it. The action itself asks for consent to send.
    ("stages.*.message", Harmless),
    ("stages.*.channels", Harmless),
    // Other values move the base branch, or push.
    ("stages.*.action", HarmlessAs(&["squash"], What::Sends)),
    ("stages.*.auto_merge", HarmlessAs(&["false"], What::Sends)),
    ("stages.*.secrets", Asks(What::Secrets)),
    // Chooses the machines that run it, and some of them can do more than others.
    ("stages.*.runs_on", Asks(What::Reaches)),
    ("stages.*.network", HarmlessAs(&["off"], What::Reaches)),
];

/// Keys of a gate, in both files.
const GATES: &[Entry] = &[
    ("gates.*.run", Asks(What::Runs)),
    ("gates.*.build", Asks(What::Runs)),
    ("gates.*.env", Asks(What::Runs)),
    ("gates.*.related", Asks(What::Runs)),
    ("gates.*.network", HarmlessAs(&["off"], What::Reaches)),
    ("gates.*.check", Harmless),
    ("gates.*.report", Harmless),
    ("gates.*.kind", Harmless),
    // These can turn off a gate of the user.
    ("gates.*.severity", HarmlessAs(&["error"], What::LessSafe)),
    ("gates.*.enabled", HarmlessAs(&["true"], What::LessSafe)),
    ("gates.*.timeout", Harmless),
    ("gates.*.output", Harmless),
    ("gates.*.parallel", Harmless),
    ("gates.*.cache", Harmless),
    ("gates.*.paths", Harmless),
    ("gates.*.again", Harmless),
    ("gates.*.tests", Harmless),
    ("gates.*.exempt", Harmless),
    ("gates.*.runs", Harmless),
    ("gates.*.red", Harmless),
    ("gates.*.weak", Harmless),
    ("gates.*.phases", Harmless),
    ("gates.*.min", Harmless),
    ("gates.*.equivalents", Harmless),
    ("gates.*.allow", Harmless),
    ("gates.*.max_lines", Harmless),
    ("gates.*.max_files", Harmless),
    ("gates.*.forbidden", Harmless),
    ("gates.*.dependencies", Harmless),
    ("gates.*.recent", Harmless),
    ("gates.*.uncounted", Harmless),
    ("gates.*.task", Harmless),
    ("gates.*.authors", Harmless),
    ("gates.*.max_subject", Harmless),
    ("gates.*.style", Harmless),
    ("gates.*.types", Harmless),
    ("gates.*.outcome", Harmless),
];

/// Returns everything that the files ask for. A file that is not valid TOML counts as an ask, because its content is
/// unknown.
pub fn asks(files: &Snapshot) -> Vec<Ask> {
    let mut found = Vec::new();
    let workflows = files.names("workflows").into_iter().filter(|path| path.strip_suffix(".toml").is_some());
    for file in ["acquit.toml"].into_iter().chain(workflows) {
        let Some(content) = files.get(file) else { continue };
        let mut add = |what, key: &str, value: &toml::Value| {
            found.push(Ask { file: file.to_owned(), key: key.to_owned(), value: value.to_string(), what });
        };
        let rules = if file == "acquit.toml" { CONFIG } else { WORKFLOW };
        match table(content) {
            Some(table) => walk(rules, &mut Vec::new(), &toml::Value::Table(table), &mut add),
            None => add(What::Other, file, &toml::Value::from("is not TOML")),
        }
    }
    found.sort_by(|a, b| (a.what, &a.file, &a.key).cmp(&(b.what, &b.file, &b.key)));
    found
}

/// Parses a file as a TOML table.
fn table(content: &Content) -> Option<toml::Table> {
    match content {
        Content::Bytes(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        Content::Refused(_) => None,
    }
}

/// Returns the rule for exactly this path.
fn rule(rules: &'static [Entry], path: &[String]) -> Option<&'static Rule> {
    let fits = |pattern: &str| {
        let mut keys = path.iter();
        pattern.split('.').all(|want| keys.next().is_some_and(|key| want == "*" || want == key))
            && keys.next().is_none()
    };
    rules.iter().chain(GATES).find(|(pattern, _)| fits(pattern)).map(|(_, rule)| rule)
}

/// Walks down the keys of a file until a rule matches, and collects what needs trust.
fn walk(
    rules: &'static [Entry],
    path: &mut Vec<String>,
    value: &toml::Value,
    add: &mut dyn FnMut(What, &str, &toml::Value),
) {
    match (rule(rules, path), value) {
        (Some(Harmless), _) => {}
        (Some(HarmlessAs(values, what)), _) => {
            let plain = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if !values.contains(&plain.as_str()) {
                add(*what, &path.join("."), value);
            }
        }
        (Some(Asks(what)), _) => add(*what, &path.join("."), value),
        (None, toml::Value::Table(table)) if is_way(rules, path) => {
            for (key, value) in table {
                path.push(key.clone());
                walk(rules, path, value, add);
                path.pop();
            }
        }
        (None, _) => add(What::Other, &path.join("."), value),
    }
}

/// Returns whether there are rules below this path.
fn is_way(rules: &'static [Entry], path: &[String]) -> bool {
    let below = |pattern: &str| {
        let mut wants = pattern.split('.');
        path.iter().all(|key| wants.next().is_some_and(|want| want == "*" || want == key))
            && wants.next().is_some()
    };
    rules.iter().chain(GATES).any(|(pattern, _)| below(pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = Snapshot::take(folder.path()).unwrap();
        asks(&files).into_iter().map(|ask| format!("{:?} {}", ask.what, ask.key)).collect()
    }

    #[test]
    fn what_runs_reads_reaches_or_sends_is_asked_for() {
        for (text, expected) in [
            (
                "[agents.bot]\nadapter = \"command\"\nrun = \"evil\"",
                "Runs agents.bot.adapter, Runs agents.bot.run",
            ),
            ("[agents.claude]\nprogram = \"./evil\"", "Runs agents.claude.program"),
            ("[agents.claude]\nargs = [\"--danger\"]", "Runs agents.claude.args"),
            ("[agents.claude]\nenv = { LD_PRELOAD = \"x\" }", "Runs agents.claude.env"),
            ("[agents.claude]\npass_env = [\"AWS_SECRET\"]", "Secrets agents.claude.pass_env"),
            ("[agents]\nclaude.program = \"./evil\"", "Runs agents.claude.program"),
            ("[secrets]\nX = { command = [\"evil\"] }", "Runs secrets.X.command"),
            ("[secrets]\nX = { env = \"AWS\" }", "Secrets secrets.X.env"),
            ("[setup]\nrun = \"evil\"", "Runs setup.run"),
            ("[setup]\ncopy = [\"private/notes\"]", "Reaches setup.copy"),
            ("[gates.test]\nrun = \"evil\"", "Runs gates.test.run"),
            ("[gates.proof]\ncheck = \"tdd\"\nbuild = \"evil\"", "Runs gates.proof.build"),
            ("[network]\nhosts = [\"evil.example\"]", "Reaches network.hosts"),
            ("[network]\nagents = \"open\"", "Reaches network.agents"),
            ("[access]\nread = [\"/etc\"]", "Reaches access.read"),
            ("[forge]\nhost = \"evil.example\"", "Sends forge.host"),
            ("[forge]\npush_remote = \"evil\"", "Sends forge.push_remote"),
            ("[forge]\nca = \"/tmp/ca\"", "Sends forge.ca"),
            ("sandbox = \"off\"", "LessSafe sandbox"),
            ("sandbox = \"reduced\"", "LessSafe sandbox"),
            ("[limits]\nmemory = \"1TiB\"", "LessSafe limits"),
            ("[[schedule]]\nname = \"night\"", "Starts schedule"),
            ("[notify.x]\nurl = \"https://evil.example\"", "Sends notify"),
            ("[something_new]\nx = 1", "Other something_new"),
            ("[merge]\nby = \"local\"", "Sends merge"),
            ("[prices.m]\ninput = 0", "LessSafe prices"),
            ("[gates.test]\nshell = \"evil\"", "Other gates.test.shell"),
            ("[agents.claude]\nwrapper = \"evil\"", "Other agents.claude.wrapper"),
            ("agents = 3", "Other agents"),
            ("sandbox = [\"on\"]", "LessSafe sandbox"),
            (
                "[setup]\nrun = \"evil\"\n[gates]\ntest = { run = \"x\" }",
                "Runs gates.test.run, Runs setup.run",
            ),
        ] {
            assert_eq!(asked(&[("acquit.toml", text)]).join(", "), expected, "{text}");
        }
        let flow = "[gates.test]\nrun = \"evil\"\n[stages.code]\nmode = \"implement\"\nsecrets = [\"X\"]\nnetwork = \"open\"\n";
        assert_eq!(
            asked(&[("workflows/flow.toml", flow)]),
            ["Runs gates.test.run", "Secrets stages.code.secrets", "Reaches stages.code.network"]
        );
        for (text, expected) in [
            ("[stages.send]\nkind = \"action\"\naction = \"publish\"", "Sends stages.send.action"),
            ("[stages.send]\nkind = \"action\"\naction = \"merge\"", "Sends stages.send.action"),
            ("[stages.send]\nkind = \"action\"\naction = \"notify\"", "Sends stages.send.action"),
            ("[stages.send]\nauto_merge = true", "Sends stages.send.auto_merge"),
            ("[stages.code]\nhook = \"evil\"", "Other stages.code.hook"),
            ("[stages]\ncode = \"evil\"", "Other stages.code"),
            ("run = \"evil\"", "Other run"),
            ("[setup]\nrun = \"evil\"", "Other setup"),
            ("[[gates]]\nrun = \"evil\"", "Other gates"),
        ] {
            assert_eq!(asked(&[("workflows/flow.toml", text)]).join(", "), expected, "{text}");
        }
    }

    /// A key that is added to a reference needs a rule here: is it harmless or not?
    #[test]
    fn every_key_of_the_references_has_a_rule() {
        fn missing(
            rules: &'static [Entry],
            path: &mut Vec<String>,
            value: &toml::Value,
            out: &mut Vec<String>,
        ) {
            if rule(rules, path).is_some() {
                return;
            }
            match value {
                toml::Value::Table(table) => {
                    for (key, value) in table {
                        path.push(key.clone());
                        missing(rules, path, value, out);
                        path.pop();
                    }
                }
                _ => out.push(path.join(".")),
            }
        }
        for (rules, reference) in
            [(CONFIG, acquit_core::config::REFERENCE), (WORKFLOW, acquit_core::workflow::REFERENCE)]
        {
            let mut out = Vec::new();
            let table: toml::Table = reference.parse().unwrap();
            missing(rules, &mut Vec::new(), &toml::Value::Table(table), &mut out);
            assert_eq!(out, [""; 0], "add a rule to CONFIG, WORKFLOW or GATES");
        }
    }

    #[test]
    fn a_file_that_is_not_toml_needs_trust() {
        assert_eq!(asked(&[("acquit.toml", "half = [")]), ["Other acquit.toml"]);
        assert_eq!(asked(&[("acquit.toml", ""), ("workflows/x.toml", "= 1")]), ["Other workflows/x.toml"]);
    }

    #[test]
    fn a_plan_of_work_asks_for_nothing() {
        let config = "workflow = \"flow\"\nagent = \"claude\"\nprotected = [\"release/*\"]\nsandbox = \"on\"\n[gates.small]\n\
                      check = \"scope\"\nmax_lines = 10\n[network]\nagents = \"off\"\n[access]\nhide = [\"/opt/x\"]\n[forge]\nlabels = \
                      [\"x\"]\n[budgets]\ntest = 3\n[commit]\nstyle = \"plain\"\n[agents.claude]\nmodel = \"opus\"\n";
        let flow =
            "[stages.code]\nmode = \"implement\"\ninstructions = \"Do it.\"\non = { pr_ready = \"done\" }\n";
        let files = [
            ("acquit.toml", config),
            ("workflows/flow.toml", flow),
            ("instructions.md", "run = \"not a key\"\n"),
        ];
        assert_eq!(asked(&files), [""; 0]);
    }
}
