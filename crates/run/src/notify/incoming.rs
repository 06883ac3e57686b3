//! Incoming webhooks of chat services. The address is the secret, so no error message shows it.

use acquit_core::config::channel::is_encrypted;
use serde_json::Value;

use super::{Error, Secrets, http};

/// Posts JSON to the address in a secret.
pub(super) fn post(secret: &str, secrets: &Secrets<'_>, body: &Value) -> Result<(), Error> {
    let address = secrets(secret)?;
    let address = String::from_utf8_lossy(address.bytes());
    let address = address.trim();
    if !is_encrypted(address) {
        return Err(Error::Away(format!(
            "the secret {secret} is not the address of a webhook; it must begin with https://"
        )));
    }
    match http::post(address, &[], None, &body.to_string()) {
        // A connection error can name the address.
        Err(Error::Away(words)) => Err(Error::Away(words.replace(address, "the webhook's address"))),
        done => done.map(drop),
    }
}
