//! Signs webhooks with HMAC-SHA256 over id, time and body, so that a receiver can verify the sender, the content and
//! the time.
//!
//! `Acquit-Signature: v1=<hex>` is the HMAC of `<Acquit-Id>.<Acquit-Timestamp>.<body>`. A receiver computes the same,
//! compares in constant time, rejects what is older or newer than [`REPLAY_WINDOW`], and remembers the ids that it has
//! seen within it.

use std::time::Duration;

use acquit_core::hex;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::secrets::Secret;

/// Maximum difference between the time of a message and the receiver's clock. Clocks differ by less, and an older
/// message is a replay.
pub const REPLAY_WINDOW: Duration = Duration::from_mins(5);

/// Why a receiver rejects a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The signature is not valid for the key.
    #[error("trust it: its signature is not made with this key")]
    Signature,
    /// The time is outside of the window.
    #[error("trust it: its time is too far from now")]
    Time,
}

/// Returns the value of `Acquit-Signature`.
pub fn signature(key: &[u8], id: &str, seconds: i64, body: &str) -> String {
    format!("v1={}", hex::encode(&mac(key, id, seconds, body).finalize().into_bytes()))
}

pub(super) fn signature_with(secret: &Secret, id: &str, seconds: i64, body: &str) -> String {
    signature(secret.bytes(), id, seconds, body)
}

/// Verifies a message as a receiver does, from the three headers and the body.
pub fn verify(
    key: &[u8],
    id: &str,
    seconds: i64,
    body: &str,
    signature: &str,
    now: i64,
) -> Result<(), Rejected> {
    let window = i64::try_from(REPLAY_WINDOW.as_secs()).unwrap_or(i64::MAX);
    let digits = signature.strip_prefix("v1=").and_then(hex::decode).ok_or(Rejected::Signature)?;
    mac(key, id, seconds, body).verify_slice(&digits).map_err(|_| Rejected::Signature)?;
    if now.abs_diff(seconds) > window.unsigned_abs() { Err(Rejected::Time) } else { Ok(()) }
}

#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
fn mac(key: &[u8], id: &str, seconds: i64, body: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body.as_bytes());
    mac
}

/// Shortens a key, for servers that limit its length.
pub(super) fn short(key: &str) -> String {
    hex::encode(&Sha256::digest(key.as_bytes())[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_one_key_one_message_and_a_few_minutes() {
        let (key, id, body) = (b"a long key", "event/7/notify.hook", "{\"title\":\"x\"}");
        let signed = signature(key, id, 1_000, body);
        // Computed by another program, as in docs/notifications.md.
        let expected = "v1=e3ebc33d14783cfe7e875ab0cc96ce7ed4041738025b9a1000b2415847c18c72";
        assert_eq!(signed, expected);
        assert_eq!(verify(key, id, 1_000, body, &signed, 1_000), Ok(()));
        assert_eq!(verify(key, id, 1_000, body, &signed, 1_300), Ok(()));
        assert_eq!(verify(key, id, 1_000, body, &signed, 1_301), Err(Rejected::Time));
        assert_eq!(verify(key, id, 1_000, body, &signed, 699), Err(Rejected::Time));
        for wrong in [
            verify(b"another key", id, 1_000, body, &signed, 1_000),
            verify(key, "event/8", 1_000, body, &signed, 1_000),
            verify(key, id, 1_001, body, &signed, 1_000),
            verify(key, id, 1_000, "{}", &signed, 1_000),
            verify(key, id, 1_000, body, "v1=", 1_000),
            verify(key, id, 1_000, body, "v1=zz", 1_000),
            verify(key, id, 1_000, body, &signed[3..], 1_000),
        ] {
            assert_eq!(wrong, Err(Rejected::Signature));
        }
    }
}
