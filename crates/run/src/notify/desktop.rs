//! Shows a desktop notification with `notify-send`, which works with any desktop.

use acquit_core::agent::shorten;
use acquit_core::config::channel::Desktop;

use super::{Envelope, Error, Secrets, Send};
use crate::process::{Call, Exit, Guard};

/// Maximum length of a notification.
const TEXT: usize = 500;

impl Send for Desktop {
    fn send(&self, envelope: &Envelope<'_>, _: &Secrets<'_>) -> Result<(), Error> {
        let notice = envelope.notice;
        let link = notice.link.as_ref().map(|link| format!("\n{link}")).unwrap_or_default();
        let body = format!("{}{link}", escaped(&shorten(&notice.text, TEXT)));
        let hint =
            format!("string:x-canonical-private-synchronous:acquit-{}", super::sign::short(envelope.place));
        let urgency = if notice.is_urgent() { "critical" } else { "normal" };
        let words = [
            "--app-name=acquit",
            &format!("--urgency={urgency}"),
            "--hint",
            &hint,
            "--",
            &notice.title,
            &body,
        ];
        let runtime = envelope.runtime;
        let call = Call {
            program: "notify-send".into(),
            args: words.iter().map(Into::into).collect(),
            cwd: runtime.home.clone(),
            env: runtime.environment.all(),
            input: None,
            limit: super::TIME_LIMIT,
            guard: Guard::Trusted,
        };
        let captured = runtime.spawner.capture(&call).map_err(|error| {
            Error::Away(format!("notify-send cannot be started ({error}); install libnotify-bin"))
        })?;
        if captured.exit == Exit::Code(0) {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&captured.stderr).trim().to_owned();
        Err(Error::Away(format!("notify-send failed: {}", shorten(&said, 200))))
    }

    fn can_replace(&self) -> bool {
        true
    }
}

/// Escapes text for a body that some desktops parse as markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
