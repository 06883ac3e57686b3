//! Checks who pays for an agent's model.
//!
//! Most agents silently prefer a key from the environment over their login, so that a night of work ends up on another
//! bill. If the configuration says who pays, the agent does not start where someone else would.

use std::ffi::{OsStr, OsString};

use acquit_core::config::{Adapter, Agent, Billing};

use super::Facts;

/// Someone other than the configured identity would pay.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The agent would use a key instead of the login.
    #[error(
        "the login of {agent} was to pay (billing = \"login\" in acquit.toml), but it would take the key in {variable} \
         instead; remove {variable} from `env`, `pass_env` and `secrets` of the agent, or write billing = \"key\""
    )]
    Key {
        /// Product name of the agent.
        agent: &'static str,
        /// Variable with the key.
        variable: &'static str,
    },
    /// There is no key, so the agent would use a login or nothing.
    #[error(
        "a key was to pay for {agent} (billing = \"key\" in acquit.toml), but it gets none; declare {variable} under [secrets] and \
         name it in `secrets` of the agent"
    )]
    NoKey {
        /// Product name of the agent.
        agent: &'static str,
        /// Variable that it checks first.
        variable: &'static str,
    },
}

/// Checks who would pay for an agent with this environment.
pub fn check(agent: &Agent, env: &[(OsString, OsString)]) -> Result<(), Error> {
    let (Adapter::Product { product }, Some(billing)) = (&agent.adapter, agent.billing) else {
        return Ok(());
    };
    let facts = Facts::of(*product);
    let is_set =
        |name: &&&'static str| env.iter().any(|(key, value)| key == OsStr::new(name) && !value.is_empty());
    let agent = facts.product.name();
    match (billing, facts.keys.iter().find(is_set)) {
        (Billing::Login, Some(variable)) => Err(Error::Key { agent, variable }),
        (Billing::Key, None) => match facts.keys.first() {
            Some(variable) => Err(Error::NoKey { agent, variable }),
            None => Ok(()),
        },
        (Billing::Login, None) | (Billing::Key, Some(_)) => Ok(()),
    }
}
