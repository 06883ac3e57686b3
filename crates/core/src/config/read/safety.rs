//! Reads safety settings: paths, network, limits, secrets, protected branches.

use std::collections::BTreeMap;

use super::{Whose, check_ref};
use crate::sandbox::{Access, Host, Network, Networks, Resources};
use crate::secret;
use crate::toml_reader::{At, Source, Table, Value, check_variable, quoted};

/// Maximum process limit: the kernel's default number of pids.
const MOST_PROCESSES: u32 = 4_194_304;
/// Minimum process limit. With fewer, a shell with a few tools fails at odd moments, which is worse than no limit.
const FEWEST_PROCESSES: u32 = 16;
/// Minimum memory limit. With less, the agent cannot start.
const LEAST_MEMORY: u64 = 64 << 20;
/// Minimum disk limit. With less, there is no room for a program's output.
const LEAST_DISK: u64 = 1 << 20;

/// Folders that determine what runs on the machine or who may log in. Paths at, below or above them are never writable.
const NEVER_WRITTEN: [&str; 39] = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/home",
    "/lib",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib",
    "/var/log",
    "/var/run",
    "/Library",
    "/System",
    "/Users",
    "~/.aws",
    "~/.bash_profile",
    "~/.bashrc",
    "~/.cargo/bin",
    "~/.config/autostart",
    "~/.config/gh",
    "~/.config/git",
    "~/.config/systemd",
    "~/.docker",
    "~/.gitconfig",
    "~/.gnupg",
    "~/.kube",
    "~/.local/bin",
    "~/.local/share/acquit",
    "~/.netrc",
    "~/.profile",
    "~/.ssh",
    "~/.zshenv",
    "~/.zshrc",
];

/// For these, only paths above them are refused, because people keep their own folders inside.
const ONLY_WHOLE: [&str; 3] = ["/home", "/opt", "/Users"];

/// Variables that change how programs run. None of them may carry a secret.
const CHANGE_PROGRAMS: [&str; 32] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "PWD",
    "IFS",
    "ENV",
    "BASH_ENV",
    "PS4",
    "CDPATH",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "GCONV_PATH",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];

/// Prefixes of such variables.
const CHANGE_PROGRAMS_AS: [&str; 14] = [
    "LD_",
    "DYLD_",
    "ACQUIT_",
    "GIT_",
    "LC_",
    "XDG_",
    "BASH_",
    "PYTHON",
    "PERL5",
    "RUBY",
    "RUSTC",
    "CARGO_BUILD_",
    "SSH_",
    "MALLOC_",
];

/// Reads the protected branches. `release/*` matches all that start with `release/`.
pub(super) fn protected(root: &mut Table<'_, '_>) -> Vec<String> {
    let names = root.strings("protected").unwrap_or_default();
    for name in &names {
        let example = match name.value.strip_suffix('*') {
            Some(front) => format!("{front}x"),
            None => name.value.clone(),
        };
        check_ref(root.source, name, &example);
    }
    names.into_iter().map(|name| name.value).collect()
}

/// Reads the folders whose repositories are trusted. A repository cannot declare itself trusted.
pub(super) fn trusted_paths(root: &mut Table<'_, '_>, whose: Whose) -> Option<Vec<String>> {
    let written = root.strings("trusted_paths")?;
    if whose == Whose::Project {
        let place = written.first().map_or(root.place, |first| first.place);
        let what = "only your own configuration can name trusted paths";
        root.source.report(place, what, Some("run `acquit trust` to trust this repository".to_owned()));
        return None;
    }
    Some(written.iter().map(|path| self::path(root.source, path, Use::Read)).collect())
}

/// Reads the hosts that a worker fetches repositories from. Who writes to the store, or to a repository, cannot name them.
pub(super) fn fetch_from(root: &mut Table<'_, '_>, whose: Whose) -> Option<Vec<String>> {
    let written = root.strings("fetch_from")?;
    if whose == Whose::Project {
        let place = written.first().map_or(root.place, |first| first.place);
        let what = "only your own configuration can name hosts to fetch from";
        root.source.report(place, what, Some("write it to the configuration of the worker".to_owned()));
        return None;
    }
    let letter = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    for host in &written {
        if host.value.is_empty() || !host.value.chars().all(letter) {
            let what = format!("{} is not a host", quoted(&host.value));
            let hint = "write it as in the address of the remote: \"git.example.org\", with its port if there is one";
            root.source.report(host.place, what, Some(hint.to_owned()));
        }
    }
    Some(written.into_iter().map(|host| host.value.to_ascii_lowercase()).collect())
}

pub(super) fn access(mut table: Table<'_, '_>, under: Access) -> Access {
    let mut list = |key, what_for, under| {
        let paths = paths(&mut table, key, what_for);
        if table.has(key) { paths } else { under }
    };
    let access = Access {
        read: list("read", Use::Read, under.read),
        write: list("write", Use::Write, under.write),
        hide: list("hide", Use::Read, under.hide),
    };
    table.finish();
    access
}

/// Reads the login files of an agent.
pub(super) fn login(table: &mut Table<'_, '_>) -> Vec<String> {
    paths(table, "login", Use::Read)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

fn paths(table: &mut Table<'_, '_>, key: &'static str, what_for: Use) -> Vec<String> {
    let written = table.strings(key).unwrap_or_default();
    written.iter().map(|path| self::path(table.source, path, what_for)).collect()
}

/// Normalizes a path: removes doubled, single-dot and trailing separators.
fn path(source: &Source<'_>, written: &At<String>, what_for: Use) -> String {
    let text = written.value.as_str();
    let (root, rest) = match (text.strip_prefix("~/"), text.strip_prefix('/')) {
        _ if text == "~" => ("~", ""),
        (Some(rest), _) => ("~", rest),
        (None, Some(rest)) => ("", rest),
        (None, None) => {
            let hint = "begin with `/`, or with `~/` for your home folder".to_owned();
            source.report(written.place, format!("{} is not a whole path", quoted(text)), Some(hint));
            return written.value.clone();
        }
    };
    let parts: Vec<&str> = rest.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let plain = format!("{root}/{}", parts.join("/"));
    if parts.contains(&"..") {
        let hint = "write the folder that is meant".to_owned();
        source.report(written.place, format!("{} has `..` in it", quoted(text)), Some(hint));
    } else if text.contains(char::is_control) {
        source.report(written.place, format!("{} has a control character in it", quoted(text)), None);
    } else if parts.is_empty() {
        let all = if root.is_empty() { "the whole machine" } else { "the whole home folder" };
        let hint = "name the folders that are needed".to_owned();
        source.report(written.place, format!("{} is {all}", quoted(text)), Some(hint));
    } else if what_for == Use::Write
        && let Some(place) = NEVER_WRITTEN.iter().find(|place| overlaps(&plain, place))
    {
        let what = format!("{} must not be written by what an agent runs", quoted(text));
        let hint = format!(
            "`{place}` decides what runs here or who may enter; name a folder of its own, such as ~/.cache/x"
        );
        source.report(written.place, what, Some(hint));
    }
    plain
}

/// Returns whether write access to `path` includes `place` or something in it.
fn overlaps(path: &str, place: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(place, path) || (within(path, place) && !ONLY_WHOLE.contains(&place))
}

pub(super) fn network(mut table: Table<'_, '_>, usual: Networks) -> Networks {
    let mut word = |key, usual| table.word(key, &Network::ALL).map_or(usual, |network| network.value);
    let (agents, gates, setup) =
        (word("agents", usual.agents), word("gates", usual.gates), word("setup", usual.setup));
    let hosts = hosts(&mut table);
    let hosts = if table.has("hosts") { hosts } else { usual.hosts };
    table.finish();
    Networks { agents, gates, setup, hosts }
}

pub(super) fn hosts(table: &mut Table<'_, '_>) -> Vec<Host> {
    let mut hosts = Vec::new();
    for written in table.strings("hosts").unwrap_or_default() {
        if let Ok(host) = written.value.parse() {
            hosts.push(host);
            continue;
        }
        let hint = "write a name such as api.example.com or *.example.com, or an address with a port such as 127.0.0.1:8080";
        let what = format!("{} is not a host", quoted(&written.value));
        table.source.report(written.place, what, Some(hint.to_owned()));
    }
    hosts
}

pub(super) fn limits(mut table: Table<'_, '_>, usual: Resources) -> Resources {
    let processes = table.value("processes").and_then(|value| {
        let count = value.count(MOST_PROCESSES)?;
        enough(table.source, &value, u64::from(count), u64::from(FEWEST_PROCESSES), "processes");
        Some(count)
    });
    let mut bytes = |key, least: u64| {
        let value = table.value(key)?;
        let bytes = value.bytes()?;
        enough(table.source, &value, bytes, least, "bytes");
        Some(bytes)
    };
    let (memory, disk) = (bytes("memory", LEAST_MEMORY), bytes("disk", LEAST_DISK));
    table.finish();
    Resources {
        processes: processes.unwrap_or(usual.processes),
        memory: memory.unwrap_or(usual.memory),
        disk: disk.unwrap_or(usual.disk),
    }
}

fn enough(source: &Source<'_>, value: &Value<'_, '_>, found: u64, least: u64, unit: &str) {
    if found < least {
        let hint = format!("at least {least} {unit}");
        source.report(value.place, "too little for anything to run", Some(hint));
    }
}

/// Reads the declared secrets. Also returns the names of invalid ones, so that their users are not reported as well.
pub(super) fn secrets<'s>(table: Table<'s, '_>) -> (BTreeMap<String, secret::Source>, Vec<&'s str>) {
    let source = table.source;
    let (mut secrets, mut known) = (BTreeMap::new(), Vec::new());
    for (name, value) in table.entries() {
        known.push(name.value);
        if check_variable(source, &name).is_ok() && changes_programs(name.value) {
            let what = format!("a secret cannot be named {}", quoted(name.value));
            let hint = "the variable changes how programs run; choose another name".to_owned();
            source.report(name.place, what, Some(hint));
        }
        let read =
            value.table().and_then(|table| secret(table.named(format!("secret `{}`", name.value)), &value));
        secrets.extend(read.map(|read| (name.value.to_owned(), read)));
    }
    (secrets, known)
}

fn changes_programs(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    CHANGE_PROGRAMS.contains(&name.as_str()) || CHANGE_PROGRAMS_AS.iter().any(|front| name.starts_with(front))
}

fn secret(mut table: Table<'_, '_>, whole: &Value<'_, '_>) -> Option<secret::Source> {
    const HINT: &str = "one of env = \"NAME\", file = \"~/path\" or command = [\"pass\", \"show\", \"x\"]";
    let source = table.source;
    let there = ["env", "file", "command"].into_iter().filter(|key| table.has(key)).count();
    let env = table.string("env").map(|name| {
        let _ = check_variable(source, &At { value: name.value.as_str(), place: name.place });
        secret::Source::Env(name.value)
    });
    let file = table.string("file").map(|written| secret::Source::File(path(source, &written, Use::Read)));
    let command = table.value("command").and_then(|value| value.command()).map(secret::Source::Command);
    if there != 1 {
        let what = if there == 0 { "a secret without a source" } else { "a secret with several sources" };
        source.report(whole.key, what, Some(HINT.to_owned()));
    }
    table.finish();
    env.or(file).or(command)
}
