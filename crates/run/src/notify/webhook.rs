//! Sends a signed HTTP request to a server of the user's own.

use acquit_core::config::channel::Webhook;

use super::{Envelope, Error, Secrets, Send, http, sign};

impl Send for Webhook {
    fn send(&self, envelope: &Envelope<'_>, secrets: &Secrets<'_>) -> Result<(), Error> {
        let secret = secrets(&self.secret)?;
        let body = serde_json::to_string(envelope.notice).map_err(Error::Form)?;
        let at = envelope.seconds.to_string();
        let signed = sign::signature_with(&secret, envelope.key, envelope.seconds, &body);
        let headers = [("Acquit-Id", envelope.key), ("Acquit-Timestamp", &at), ("Acquit-Signature", &signed)];
        http::post(&self.url, &headers, None, &body).map(drop)
    }

    fn can_replace(&self) -> bool {
        true
    }
}
