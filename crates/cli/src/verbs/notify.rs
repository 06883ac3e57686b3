//! `acquit notify test`: checks that every channel works.

use acquit_app::{Error, serve};
use serde_json::json;

use crate::args::NotifyVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{Look, text};

/// Sends test messages.
pub fn notify(cli: &Cli, verb: &NotifyVerb) -> Result<Exit, Error> {
    let NotifyVerb::Test { channel } = verb;
    let tested = serve::test_channels(&cli.app, channel.as_ref())?;
    let printer = cli.printer;
    if printer.json {
        let one = |one: &serve::Tested| json!({ "channel": one.name, "sent": one.trouble.is_none(), "trouble": one.trouble });
        printer.json(&tested.iter().map(one).collect::<Vec<_>>());
    } else if tested.is_empty() {
        printer
            .say("no channels; declare one as [notify.NAME] in acquit.toml: docs/notifications.md shows how");
    } else {
        for one in &tested {
            let line = match &one.trouble {
                None => format!("{} {}", printer.paint(Look::Good, "sent"), one.name),
                Some(trouble) => {
                    format!(
                        "{} {}: {}",
                        printer.paint(Look::Bad, "not sent"),
                        one.name,
                        text::visible(trouble)
                    )
                }
            };
            printer.data(&line);
        }
    }
    Ok(if tested.iter().all(|one| one.trouble.is_none()) { Exit::Done } else { Exit::Failed })
}
