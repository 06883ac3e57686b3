//! Any program: the prompt on its standard input, plain text on its standard output.

use acquit_core::agent::AgentEvent;

use super::Parser;

/// Every line is something said.
pub(super) struct PlainText;

impl Parser for PlainText {
    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>) {
        if !line.iter().all(u8::is_ascii_whitespace) {
            said.push(AgentEvent::Text { text: String::from_utf8_lossy(line).into_owned() });
        }
    }
}
