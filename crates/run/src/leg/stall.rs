//! Detects whether a running agent can still make progress, and decides when to stop it.
//!
//! Some agents retry for minutes although nothing can change: acquit blocks a host, or the provider rejects a key.
//! Some repeat one command as long as someone pays for it. Both are stopped early.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use acquit_core::agent::Fault;
use acquit_core::sandbox::Host;

use super::blocked_connections::{BlockedConnection, without_spare};
use super::budget::Allowance;
use crate::network;
use crate::turn_summary::{ReportedFault, Shown, TurnSummary};

/// Interval between reads of the proxy's log.
const LOOK: Duration = Duration::from_millis(500);
/// How long an agent may retry an error that only a person can fix. Renewing an expired login takes less.
const RETRIES: Duration = Duration::from_secs(4);
/// How long an agent may take to exit after it gave up for such a reason. Some spend seconds on loading a runtime
/// before they exit.
const FAREWELL: Duration = Duration::from_secs(1);
/// An agent that does not report retries is stopped after this many blocked connections and this much time. The first
/// ones may have been for something other than its model.
const SILENT_REFUSALS: usize = 3;
const SILENT: Duration = Duration::from_secs(12);

/// Why an agent was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It retries something that cannot succeed. Its output and the proxy's log show what.
    Hopeless,
    /// It repeats itself, as described.
    Loop(String),
    /// It tried something that acquit rejects, at a stage that then ends, as described.
    Refused(String),
    /// It used up its cost or time limit, as described.
    Spent(String),
    /// It wants to call its model more often than this.
    Turns(u32),
}

/// Returns whether an agent reports that its provider or the connection to it failed.
pub(crate) fn is_outage(trouble: &ReportedFault) -> bool {
    matches!(trouble.fault, Fault::Network | Fault::Server | Fault::Overloaded)
}

/// Monitors one agent.
pub(crate) struct StallDetector {
    log: PathBuf,
    hosts: Vec<Host>,
    spare_hosts: &'static [&'static str],
    looked: Instant,
    size: u64,
    refusals: usize,
    refused: Option<Instant>,
    fault: Option<Instant>,
    /// Whether the proxy is its only way out.
    enclosed: bool,
    /// Since when it retries without a request to the proxy.
    unreached: Option<Instant>,
    allowance: Allowance,
    /// Files that record rejected commands which end the leg.
    refused_commands: Vec<PathBuf>,
    /// How its output shows its turns, and their limit.
    turns: Option<(Shown, u32)>,
}

impl StallDetector {
    /// Creates a detector from the proxy's log, the hosts of the agent's model and the agent's budget.
    pub(crate) fn new(log: PathBuf, hosts: &[Host], enclosed: bool, allowance: Allowance) -> Self {
        Self {
            log,
            hosts: hosts.to_vec(),
            spare_hosts: &[],
            looked: Instant::now(),
            size: 0,
            refusals: 0,
            refused: None,
            fault: None,
            enclosed: enclosed && !hosts.is_empty(),
            unreached: None,
            allowance,
            refused_commands: Vec::new(),
            turns: None,
        }
    }

    /// Leaves out hosts that the agent asks for and works without.
    pub(crate) fn sparing(self, spare_hosts: &'static [&'static str]) -> Self {
        Self { spare_hosts, ..self }
    }

    /// Stops the agent at the first rejected command that one of these files records.
    pub(crate) fn halting(self, noted: Vec<PathBuf>) -> Self {
        Self { refused_commands: noted, ..self }
    }

    /// Stops the agent when it begins another turn than these.
    pub(crate) fn limiting(self, shown: Shown, turns: Option<u32>) -> Self {
        Self { turns: turns.map(|turns| (shown, turns)), ..self }
    }

    /// Returns the command that acquit rejected, if that ends the leg.
    pub(crate) fn refused_command(&self) -> Option<Stop> {
        self.refused_commands.iter().find_map(|noted| refused_command(noted)).map(Stop::Refused)
    }

    /// Returns why the agent must be stopped, if it must.
    pub(crate) fn look(&mut self, summary: &TurnSummary) -> Option<Stop> {
        if let Some(words) = summary.steps.cycle() {
            return Some(Stop::Loop(words));
        }
        if let Some(words) = self.allowance.spent(summary) {
            return Some(Stop::Spent(words));
        }
        if let Some((shown, limit)) = self.turns
            && summary.turns.begun(shown) > limit
        {
            return Some(Stop::Turns(limit));
        }
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        if let Some(stop) = self.refused_command() {
            return Some(stop);
        }
        let retries = summary.fault.as_ref().filter(|trouble| trouble.again);
        let is_personal =
            |trouble: &&ReportedFault| matches!(trouble.fault, Fault::Login | Fault::Billing | Fault::Model);
        // An agent that gave up after some work may have given up only a part of it. It exits on its own.
        let idle = summary.usage.is_empty() && summary.tools == 0;
        let personal = summary.fault.as_ref().filter(is_personal).filter(|trouble| trouble.again || idle);
        self.fault = personal.and_then(|_| self.fault.or_else(|| Some(Instant::now())));
        let patience = if retries.is_some() { RETRIES } else { FAREWELL };
        if self.fault.is_some_and(|since| since.elapsed() >= patience) {
            return Some(Stop::Hopeless);
        }
        self.read_log();
        let unreached = retries.is_some_and(is_outage) && self.enclosed && self.size == 0;
        self.unreached = if unreached { self.unreached.or_else(|| Some(Instant::now())) } else { None };
        if self.unreached.is_some_and(|since| since.elapsed() >= RETRIES) {
            return Some(Stop::Hopeless);
        }
        let since = self.refused?.elapsed();
        let told = retries.is_some() && since >= RETRIES;
        let silent = summary.usage.is_empty() && self.refusals >= SILENT_REFUSALS && since >= SILENT;
        (told || silent).then_some(Stop::Hopeless)
    }

    /// Reads the log again if it has grown.
    fn read_log(&mut self) {
        let size = std::fs::symlink_metadata(&self.log).map_or(0, |file| file.len());
        if size == self.size {
            return;
        }
        self.size = size;
        let connections = without_spare(network::read_log(&self.log), self.spare_hosts);
        self.refused = match BlockedConnection::of(&connections, &self.hosts) {
            Some(_) => self.refused.or_else(|| Some(Instant::now())),
            None => None,
        };
        let failed = |one: &&network::Connection| one.verdict != network::Verdict::Granted;
        self.refusals = connections.iter().filter(failed).count();
    }
}

/// Maximum length of a recorded command.
const NOTE: u64 = 300;

/// Returns a hook's record from the agent's sandbox. The agent can write there too, so use it only as text.
fn refused_command(noted: &std::path::Path) -> Option<String> {
    noted.symlink_metadata().ok()?;
    let text = crate::untrusted::text(noted, NOTE).ok().flatten().unwrap_or_default();
    let line = text.lines().next().unwrap_or_default().trim();
    Some(if line.is_empty() { "a command that acquit refuses".to_owned() } else { line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use acquit_core::agent::AgentEvent;

    #[test]
    fn an_agent_that_gave_up_for_a_wrong_key_is_not_waited_for_unless_it_worked() {
        let looked = |said: &[AgentEvent]| {
            let mut summary = TurnSummary::default();
            said.iter().for_each(|one| summary.heed(one));
            let mut stall = StallDetector::new(PathBuf::new(), &[], false, Allowance::default());
            stall.fault = Some(Instant::now().checked_sub(FAREWELL).expect("the machine runs for longer"));
            stall.looked = Instant::now().checked_sub(LOOK).expect("the machine runs for longer");
            stall.look(&summary)
        };
        let fault = |again| AgentEvent::Fault { fault: Fault::Login, text: "401".to_owned(), again };
        let tool = AgentEvent::ToolUse { name: "edit".to_owned(), input: "x".to_owned() };
        assert_eq!(looked(&[fault(false)]), Some(Stop::Hopeless));
        assert_eq!(looked(&[tool, fault(false)]), None);
        assert_eq!(looked(&[fault(true)]), None, "it may retry for longer");
        assert_eq!(looked(&[]), None);
    }
}
