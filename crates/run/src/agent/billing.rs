//! Who pays for an agent's model.
//!
//! Most agents take a key from the environment in place of their login without a word, and a night of work is then on another
//! bill. So an agent whose configuration names who pays is not started where somebody else would.

use std::ffi::{OsStr, OsString};

use acquit_core::config::{Adapter, Agent, Billing};

use super::Facts;

/// Another identity would pay than was named.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A key would be taken in place of the login.
    #[error(
        "the login of {agent} was to pay (billing = \"login\" in acquit.toml), but it would take the key in {variable} \
         instead; remove {variable} from `env`, `pass_env` and `secrets` of the agent, or write billing = \"key\""
    )]
    Key {
        /// The agent's product.
        agent: &'static str,
        /// The variable with the key.
        variable: &'static str,
    },
    /// There is no key, and a login would be taken or nothing.
    #[error(
        "a key was to pay for {agent} (billing = \"key\" in acquit.toml), but it gets none; declare {variable} under [secrets] and \
         name it in `secrets` of the agent"
    )]
    NoKey {
        /// The agent's product.
        agent: &'static str,
        /// The variable that it would look at first.
        variable: &'static str,
    },
}

/// Looks who would pay for an agent that gets this environment.
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
