//! Connections that acquit's proxy blocked, as an explanation for the failure of a program.
//!
//! To the program, a blocked connection looks like an outage: it retries and reports a network error. Waiting does not
//! help, so the leg asks a person and names the line to add to the configuration.

use std::borrow::Cow;
use std::collections::BTreeSet;

use acquit_core::config::Config;
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::sandbox::{Host, Network};

use super::LegAbort;
use crate::network::{Connection, Verdict, Why};

/// Maximum number of hosts to name, because a person reads the question.
const MOST_HOSTS: usize = 8;

/// Why a program could not reach a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockedConnection {
    /// These hosts are not on the allowlist.
    NotListed(BTreeSet<String>),
    /// A listed name resolves to an address that is not public.
    NotPublic {
        /// Host name.
        host: String,
        /// Reason that the proxy gave.
        reason: String,
    },
    /// A listed name does not exist.
    NoSuchName(String),
    /// The proxy got no connection. The program looked for its model on this machine, which the sandbox hides. Its
    /// settings contain these addresses.
    Inside(BTreeSet<String>),
}

impl BlockedConnection {
    /// Returns the blocked connections, if no connection reached one of `hosts`. A program that reached its hosts
    /// failed for another reason.
    pub(crate) fn of(connections: &[Connection], hosts: &[Host]) -> Option<Self> {
        let reached = |one: &Connection| {
            one.verdict == Verdict::Granted && hosts.iter().any(|host| host.covers(&one.host, one.port))
        };
        if connections.iter().any(reached) {
            return None;
        }
        let mut not_listed = BTreeSet::new();
        let mut other = None;
        for one in connections.iter().filter(|one| !one.host.is_empty()) {
            match one.why {
                Why::NotListed => {
                    not_listed.insert(written(one));
                }
                Why::NotPublic(_) => {
                    let reason = one.reason.clone().unwrap_or_default();
                    other = Some(Self::NotPublic { host: written(one), reason });
                }
                Why::NoSuchName => other = Some(Self::NoSuchName(written(one))),
                Why::Other => {}
            }
        }
        if not_listed.is_empty() { other } else { Some(Self::NotListed(not_listed)) }
    }

    /// Explains why an agent reports that it cannot reach its model although [`Self::of`] found nothing. If the proxy
    /// neither made nor tried a connection, neither the provider nor the network can have failed: the agent looked
    /// inside its own sandbox. `settings` are the texts it was started with.
    pub(crate) fn of_unreached<'a>(
        connections: &[Connection],
        hosts: &[Host],
        settings: impl Iterator<Item = Cow<'a, str>>,
    ) -> Option<Self> {
        let asked = |one: &Connection| matches!(one.verdict, Verdict::Granted | Verdict::Unreachable);
        if hosts.is_empty() || connections.iter().any(asked) {
            return None;
        }
        let mut found = BTreeSet::new();
        for text in settings {
            found.extend(
                on_this_machine(&text).filter(|host| !hosts.contains(host)).map(|host| host.to_string()),
            );
        }
        Some(Self::Inside(found))
    }

    /// Returns the question about an agent with these hosts.
    pub(crate) fn of_agent(&self, agent: &Name, hosts: &[Host]) -> String {
        let listed: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        self.words(&format!("the agent {agent}"), &format!("[agents.{agent}]"), listed)
    }

    /// Returns the question about a command of the project.
    fn of_command(&self, what: &str, config: &Config) -> String {
        let listed = config.network.hosts.iter().map(ToString::to_string).collect();
        self.words(what, "[network]", listed)
    }

    fn words(&self, who: &str, table: &str, mut listed: Vec<String>) -> String {
        match self {
            Self::NotListed(hosts) => {
                let named: Vec<&str> = hosts.iter().map(String::as_str).take(MOST_HOSTS).collect();
                listed.extend(named.iter().map(|host| (*host).to_owned()));
                let list = listed.iter().map(|host| format!("\"{host}\"")).collect::<Vec<_>>().join(", ");
                let (is, them) = if named.len() == 1 { ("is", "it") } else { ("are", "them") };
                format!(
                    "{who} needs {}, which {is} not on the list of allowed hosts. \
                     To allow {them}, write this in .acquit/acquit.toml and approve:\n\n{table}\nhosts = [{list}]",
                    named.join(", ")
                )
            }
            Self::Inside(found) if found.is_empty() => format!(
                "{who} cannot reach its model, and did not ask for a host outside of its sandbox. If the model is on this \
                 machine, add its address with the port, such as \"127.0.0.1:11434\", to `hosts` of {table} in \
                 .acquit/acquit.toml and approve"
            ),
            Self::Inside(found) => Self::NotListed(found.clone()).words(who, table, listed),
            Self::NotPublic { host, reason } => format!(
                "{who} needs {host}, but {reason}. To allow it, list that address with its port in `hosts` of \
                 {table} in .acquit/acquit.toml and approve"
            ),
            Self::NoSuchName(host) => format!(
                "{who} needs {host}, but there is no host of that name. Correct the address of the model, or \
                 `hosts` of {table}, in .acquit/acquit.toml and approve"
            ),
        }
    }
}

/// Leaves out connections to hosts that an agent asks for but does not need: no person has to be asked about them, and
/// they must not hide the cause of a failure.
pub(crate) fn without_spare(mut connections: Vec<Connection>, spare_hosts: &[&str]) -> Vec<Connection> {
    connections.retain(|one| !spare_hosts.iter().any(|host| one.host.eq_ignore_ascii_case(host)));
    connections
}

/// Returns the addresses of this machine in a text, such as `http://127.0.0.1:8080/v1`.
fn on_this_machine(text: &str) -> impl Iterator<Item = Host> {
    const NAMES: [&str; 3] = ["127.0.0.1:", "localhost:", "[::1]:"];
    NAMES.into_iter().flat_map(move |name| {
        text.match_indices(name).filter_map(move |(at, _)| {
            let port: String = text[at + name.len()..].chars().take_while(char::is_ascii_digit).collect();
            format!("{name}{port}").parse().ok()
        })
    })
}

/// Formats a host as in the configuration.
fn written(one: &Connection) -> String {
    let bracketed = if one.host.contains(':') { format!("[{}]", one.host) } else { one.host.clone() };
    let text = format!("{bracketed}:{}", one.port);
    text.parse::<Host>().map_or(text, |host| host.to_string())
}

/// Returns the question about an agent without network access.
pub(crate) fn no_network(agent: &Name, stage: &Name) -> String {
    format!(
        "the agent {agent} cannot reach its model: stage {stage} runs with network = \"{}\". \
         Write network = \"{}\" for the stage, or `agents` of [network] in .acquit/acquit.toml, and approve",
        Network::Off,
        Network::Model
    )
}

/// Ends a leg whose setup command failed. It would fail again, so a person is asked, unless a listed host did not
/// answer: that is temporary.
pub(crate) fn of_setup(reason: String, connections: &[Connection], config: &Config) -> LegAbort {
    if let Some(refusal) = BlockedConnection::of(connections, &[]) {
        let words = format!("{}\n\n{reason}", refusal.of_command("the setup command", config));
        return LegAbort::failed(kind::CONFIG, words);
    }
    if connections.iter().any(|one| one.verdict == Verdict::Unreachable) {
        return LegAbort::failed(kind::HARNESS, reason);
    }
    let how = "correct `run` of [setup] in .acquit/acquit.toml, or what it needs, and approve";
    LegAbort::failed(kind::CONFIG, format!("{reason}\n{how}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use acquit_core::time::Timestamp;

    fn one(host: &str, port: u16, verdict: Verdict, why: Why) -> Connection {
        Connection {
            at: Timestamp(0),
            host: host.to_owned(),
            port,
            address: None,
            verdict,
            reason: None,
            why,
            ended: None,
            up: 0,
            down: 0,
        }
    }

    fn hosts(list: &[&str]) -> Vec<Host> {
        list.iter().map(|host| host.parse().unwrap()).collect()
    }

    #[test]
    fn a_host_that_an_agent_works_without_explains_no_failure() {
        let spare = one("raw.githubusercontent.com", 443, Verdict::Refused, Why::NotListed);
        let model = one("llm.corp.example", 443, Verdict::Refused, Why::NotListed);
        let of = |log: Vec<Connection>| {
            BlockedConnection::of(
                &without_spare(log, &["raw.githubusercontent.com"]),
                &hosts(&["api.example.com"]),
            )
        };
        assert_eq!(of(vec![spare.clone()]), None);
        assert_eq!(
            of(vec![spare, model]),
            Some(BlockedConnection::NotListed(["llm.corp.example".to_owned()].into()))
        );
    }

    #[test]
    fn a_host_that_is_not_listed_comes_with_the_line_to_add() {
        let log = [one("llm.corp.example", 443, Verdict::Refused, Why::NotListed)];
        let hosts = hosts(&["api.example.com"]);
        let words = BlockedConnection::of(&log, &hosts).unwrap().of_agent(&Name::literal("bot"), &hosts);
        let line = "[agents.bot]\nhosts = [\"api.example.com\", \"llm.corp.example\"]";
        assert!(words.ends_with(line), "{words}");
        let ports = [one("::1", 8080, Verdict::Refused, Why::NotListed)];
        let words = BlockedConnection::of(&ports, &hosts).unwrap().of_agent(&Name::literal("bot"), &hosts);
        assert!(words.contains("\"[::1]:8080\""), "{words}");
    }

    #[test]
    fn a_refusal_beside_a_model_that_answers_explains_nothing() {
        let log = [
            one("telemetry.example", 443, Verdict::Refused, Why::NotListed),
            one("api.example.com", 443, Verdict::Granted, Why::Other),
        ];
        assert_eq!(BlockedConnection::of(&log, &hosts(&["api.example.com"])), None);
        assert!(
            BlockedConnection::of(&log, &hosts(&["other.example.com"])).is_some(),
            "another host is not its model"
        );
    }

    #[test]
    fn a_model_on_this_machine_that_is_not_listed_is_found_in_the_settings() {
        let listed = hosts(&["api.example.com"]);
        let settings =
            || ["BASE=http://127.0.0.1:8080/v1", "x localhost:11434", "127.0.0.1:x"].map(Cow::from);
        let found = BlockedConnection::of_unreached(&[], &listed, settings().into_iter()).unwrap();
        let words = found.of_agent(&Name::literal("bot"), &listed);
        assert!(words.ends_with("[\"api.example.com\", \"127.0.0.1:8080\", \"localhost:11434\"]"), "{words}");
        let away = [one("api.example.com", 443, Verdict::Unreachable, Why::Other)];
        assert_eq!(
            BlockedConnection::of_unreached(&away, &listed, settings().into_iter()),
            None,
            "an outage"
        );
        assert_eq!(
            BlockedConnection::of_unreached(&[], &[], settings().into_iter()),
            None,
            "not an agent with a model"
        );
    }

    #[test]
    fn only_a_name_that_does_not_exist_is_no_outage() {
        let hosts = hosts(&["api.example.con"]);
        let lookup =
            |why| BlockedConnection::of(&[one("api.example.con", 443, Verdict::Unreachable, why)], &hosts);
        assert_eq!(lookup(Why::NoSuchName), Some(BlockedConnection::NoSuchName("api.example.con".into())));
        assert_eq!(lookup(Why::Other), None, "an outage");
    }
}
