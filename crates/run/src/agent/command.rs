//! Any program: the prompt on standard input, plain text on standard output.

use acquit_core::agent::AgentEvent;

use super::Parser;

/// Reports every line as a message of the agent.
pub(super) struct PlainText;

impl Parser for PlainText {
    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        if !line.iter().all(u8::is_ascii_whitespace) {
            said.push(AgentEvent::Text { text: String::from_utf8_lossy(line).into_owned() });
        }
    }
}
