//! Fills the templates of the files. A template is a readable example with lines `#> name`, each of which is replaced
//! by a block. The inserted text is not processed again.

#![allow(
    clippy::format_push_string,
    reason = "files are filled once, and read better in one form throughout"
)]

use std::path::PathBuf;

use acquit_core::failure::kind;
use acquit_run::agent::Facts;
use acquit_run::registry::Server;

use super::detect::{Check, Finding, Gate, Report, Severity};

/// The configuration.
pub(super) const CONFIG: &str = ".acquit/acquit.toml";
/// Instructions for agents.
const INSTRUCTIONS: &str = ".acquit/instructions.md";

const CONFIG_TEMPLATE: &str = include_str!("../../templates/acquit.toml");
const INSTRUCTIONS_TEXT: &str = include_str!("../../templates/instructions.md");

/// Prefix of a line to replace.
const MARK: &str = "#> ";

/// Maximum line width, the same as in the templates.
const WIDTH: usize = 120;

/// Returns all files, the configuration last.
pub(super) fn files(found: &[Finding], agents: &[&Facts], servers: &[Server]) -> Vec<(PathBuf, String)> {
    vec![(INSTRUCTIONS.into(), INSTRUCTIONS_TEXT.to_owned()), (CONFIG.into(), config(found, agents, servers))]
}

fn fill(template: &str, blocks: &[(&str, String)]) -> String {
    let line = |line: &str| {
        let block = line.strip_prefix(MARK).and_then(|name| blocks.iter().find(|(known, _)| *known == name));
        block.map_or_else(|| format!("{line}\n"), |(_, text)| format!("{}\n", text.trim_end()))
    };
    template.lines().map(line).collect()
}

/// Gates for every project in any language. They inspect the change and run nothing.
const ALWAYS: [&str; 2] = [
    "# No test is weaker than before: removed, skipped, or without its assertions.\n[gates.dilution]\ncheck = \"dilution\"\nkind = \"test\"",
    "# No key, token or password in any commit of the change.\n[gates.secrets]\ncheck = \"secrets\"\nkind = \"security\"",
];

/// Returns the gates, and the budgets that their failures spend.
fn proof(found: &[Finding]) -> (String, String) {
    let unknown = [(String::from("test"), Gate::unknown())];
    let named: Vec<(String, Gate)> = if found.is_empty() { unknown.to_vec() } else { names(found) };
    let own = named.iter().map(|(name, gate)| gate_table(name, gate));
    let gates: Vec<String> = ALWAYS.iter().map(|table| (*table).to_owned()).chain(own).collect();
    (gates.join("\n\n"), budgets(&named, found.is_empty()))
}

/// Returns the gates of all findings with unique names. If there are several findings, each gets a prefix.
fn names(found: &[Finding]) -> Vec<(String, Gate)> {
    let mut named = Vec::new();
    for finding in found {
        let alone_there = found.iter().filter(|other| other.folder == finding.folder).count() == 1;
        let prefix = match &finding.folder {
            _ if found.len() == 1 => String::new(),
            None => format!("{}-", finding.language.short()),
            Some(folder) if alone_there => format!("{}-", gate_name(folder)),
            Some(folder) => format!("{}-{}-", gate_name(folder), finding.language.short()),
        };
        let folder = finding.folder.as_deref();
        let inside = |line: &str| in_folder(folder, line);
        named.extend(finding.gates.iter().map(|gate| {
            let check = match &gate.check {
                Check::Tests { build, report } => {
                    Check::Tests { build: build.as_deref().map(inside), report: *report }
                }
                Check::Tdd { build, report } => {
                    Check::Tdd { build: build.as_deref().map(inside), report: *report }
                }
                Check::Command => Check::Command,
            };
            let gate = Gate { run: inside(&gate.run), check, folder: finding.folder.clone(), ..gate.clone() };
            (format!("{prefix}{}", gate.name), gate)
        }));
    }
    named
}

/// Returns a shell command line that runs in a folder.
fn in_folder(folder: Option<&str>, line: &str) -> String {
    folder.map_or_else(|| line.to_owned(), |folder| format!("cd {} && {line}", word(folder)))
}

/// Quotes a path as one shell word.
fn word(path: &str) -> String {
    let plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
    if plain { path.to_owned() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// Returns the last part of a folder's path, in the characters allowed in gate names.
fn gate_name(folder: &str) -> String {
    let last = folder.rsplit('/').next().unwrap_or(folder);
    let name: String =
        last.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let name = name.trim_matches('-').chars().take(30).collect::<String>();
    if name.is_empty() { "part".to_owned() } else { name }
}

fn gate_table(name: &str, gate: &Gate) -> String {
    let mut text = gate.why.map_or_else(String::new, |why| format!("# {why}\n"));
    let (check, build, report) = match &gate.check {
        Check::Command => (None, None, None),
        Check::Tests { build, report } => (Some("tests"), build.as_deref(), Some(report)),
        Check::Tdd { build, report } => (Some("tdd"), build.as_deref(), Some(report)),
    };
    text += &format!("[gates.{name}]\n");
    text += &check.map(|check| format!("check = {}\n", quoted(check))).unwrap_or_default();
    text += &build.map(|build| format!("build = {}\n", quoted(build))).unwrap_or_default();
    text += &format!("run = {}\n", quoted(&gate.run));
    text += &match report {
        None => String::new(),
        Some(Report::Printed(format)) => format!("report = {}\n", quoted(format)),
        Some(Report::Junit(files)) => {
            // The folder that acquit creates for reports is the same for every folder of the repository.
            let folder = gate.folder.as_ref().filter(|_| !files.starts_with('$'));
            let files = folder.map_or_else(|| (*files).to_owned(), |folder| format!("{folder}/{files}"));
            format!("report = {{ junit = {} }}\n", quoted(&files))
        }
    };
    text += &format!("kind = {}\n", quoted(gate.kind));
    match gate.severity {
        Severity::Error => {}
        Severity::Warning => text += "severity = \"warning\"\n",
    }
    if !gate.paths.is_empty() {
        let list: Vec<String> = gate.paths.iter().map(|pattern| quoted(pattern)).collect();
        text += &format!("paths = {}\n", wrapped(&list));
    }
    if let Some(timeout) = gate.timeout {
        text += &format!("timeout = {}\n", quoted(timeout));
    }
    text.trim_end().to_owned()
}

/// Returns a budget with its default for each kind of gate. Returns zero for a gate that cannot pass yet, so that no
/// agent is paid to try.
fn budgets(gates: &[(String, Gate)], nothing_found: bool) -> String {
    let mut text = "[budgets]\n".to_owned();
    for (name, usual) in kind::DEFAULTS {
        let used = gates.iter().any(|(_, gate)| gate.kind == name);
        if used && nothing_found {
            text += &format!(
                "{name} = 0                        # raise it once the gate above says how to test\n"
            );
        } else if used || ["review", "security", "test"].contains(&name) {
            text += &format!("{name} = {usual}\n");
        }
    }
    text
}

fn config(found: &[Finding], agents: &[&Facts], servers: &[Server]) -> String {
    let agent = match agents.first() {
        Some(first) => {
            format!(
                "{:<31} # takes the stages that name none",
                format!("agent = {}", quoted(first.product.name()))
            )
        }
        None => "# agent = \"my-agent\"            # takes the stages that name none".to_owned(),
    };
    let list = if agents.is_empty() {
        "#\n# None was found in PATH. Without one no task can run; describe yours:\n#\n# [agents.my-agent]\n\
         # adapter = \"command\"\n# run = [\"my-agent\", \"--print\"]\n# pass_env = [\"MY_AGENT_KEY\"]"
            .to_owned()
    } else {
        let tables: Vec<String> = agents.iter().map(|agent| agent_table(agent)).collect();
        format!("\n{}", tables.join("\n\n"))
    };
    let (gates, budgets) = proof(found);
    let blocks = [
        ("agent", agent),
        ("setup", setup(found)),
        ("network", network(servers)),
        ("gates", gates),
        ("budgets", budgets),
        ("agents", list),
    ];
    fill(CONFIG_TEMPLATE, &blocks)
}

fn setup(found: &[Finding]) -> String {
    const WHY: &str =
        "# Run in a fresh workspace before the first agent, and again when one of the lock files changed.\n";
    let all: Vec<_> =
        found.iter().filter_map(|it| Some((it.folder.as_deref(), it.setup.as_ref()?))).collect();
    if all.is_empty() {
        return format!(
            "{WHY}# [setup]\n# run = \"make deps\"\n# lock_files = [\"deps.lock\"]\n# timeout = \"15m\""
        );
    }
    let run =
        all.iter().map(|(folder, setup)| (*folder, setup.run.as_str())).filter(|(_, run)| !run.is_empty());
    let compile = all.iter().filter_map(|(folder, setup)| Some((*folder, setup.compile.as_deref()?)));
    let key = |name: &str, lines: Vec<_>, between: &str| {
        if lines.is_empty() {
            String::new()
        } else {
            format!("{name} = {}\n", quoted(&joined(lines, between)))
        }
    };
    let (run, compile) = (key("run", run.collect(), " && "), key("compile", compile.collect(), "; "));
    let files =
        all.iter().flat_map(|(folder, setup)| setup.lock_files.iter().map(move |file| (folder, file)));
    let files: Vec<String> = files
        .map(|(folder, file)| {
            folder.map_or_else(|| quoted(file), |folder| quoted(&format!("{folder}/{file}")))
        })
        .collect();
    let timeout = all.iter().find_map(|(_, setup)| setup.timeout);
    let timeout = timeout.map(|timeout| format!("timeout = {}\n", quoted(timeout))).unwrap_or_default();
    format!("{WHY}[setup]\n{run}{compile}lock_files = {}\n{timeout}", wrapped(&files))
}

/// Joins command lines of folders. Of several, each runs in its own subshell, so that no `cd` affects the next.
fn joined(lines: Vec<(Option<&str>, &str)>, between: &str) -> String {
    match lines.as_slice() {
        [(folder, only)] => in_folder(*folder, only),
        several => {
            let each: Vec<String> =
                several.iter().map(|(folder, line)| format!("({})", in_folder(*folder, line))).collect();
            each.join(between)
        }
    }
}

/// Returns the servers that setup and agents may reach, each with the file or setting that names it.
fn network(servers: &[Server]) -> String {
    const WHY: &str =
        "# Servers that setup and agents may reach, beside the agents' own models. Gates reach none.\n";
    if servers.is_empty() {
        return format!("{WHY}# [network]\n# hosts = [\"registry.example.com\"]");
    }
    let line = |server: &Server| {
        let host = format!("{},", quoted(&server.host.to_string()));
        format!("    {host:<35} # {}\n", one_line(&server.origin))
    };
    let lines: String = servers.iter().map(line).collect();
    format!("{WHY}[network]\nhosts = [\n{lines}]")
}

/// Returns a text as one line for a comment, whatever characters a path has.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(100).collect()
}

fn agent_table(facts: &Facts) -> String {
    let name = facts.product.name();
    let key = facts.keys.first().copied().unwrap_or("MY_KEY");
    let about = if facts.log_in.is_empty() {
        "It needs the key of a provider, declared under [secrets]"
    } else {
        "It works with its own login; with a key instead, declare the key under [secrets]"
    };
    format!(
        "# {}. {about}.\n\
         [agents.{name}]\nadapter = \"{name}\"\n# model = \"…\"\n# billing = \"login\"\n# secrets = [{}]",
        facts.title,
        quoted(key)
    )
}

/// Returns a TOML list, wrapped if it is too long for one line.
fn wrapped(items: &[String]) -> String {
    const INDENT: &str = "    ";
    let one_line = format!("[{}]", items.join(", "));
    if one_line.len() < WIDTH - "lock_files = ".len() {
        return one_line;
    }
    let mut lines = vec![INDENT.to_owned()];
    for item in items {
        if lines.last().is_some_and(|line| line.len() + item.len() + 1 > WIDTH) {
            lines.push(INDENT.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            let gap = if line.len() > INDENT.len() { " " } else { "" };
            *line += &format!("{gap}{item},");
        }
    }
    format!("[\n{}\n]", lines.join("\n"))
}

/// Returns a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
