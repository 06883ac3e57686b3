//! Channel binding `tls-server-end-point` (RFC 5929): the hash of the server's certificate, with the hash function of
//! its signature.

use ring::digest;

/// Identifiers of signature algorithms and the hash to use. MD5 and SHA-1 are replaced by SHA-256.
const ALGORITHMS: [(&[u8], &digest::Algorithm); 9] = [
    // RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512.
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], &digest::SHA384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], &digest::SHA512),
    // ECDSA with SHA-1, SHA-256, SHA-384, SHA-512.
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], &digest::SHA384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], &digest::SHA512),
];

const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// Returns the binding to a certificate; `None` if its signature has no separate hash, such as Ed25519.
pub(super) fn of(certificate: &[u8]) -> Option<Vec<u8>> {
    let (inside, _) = element(certificate, SEQUENCE)?;
    let (_, after) = element(inside, SEQUENCE)?;
    let (algorithm, _) = element(after, SEQUENCE)?;
    let (identifier, _) = element(algorithm, OBJECT_IDENTIFIER)?;
    let (_, hash) = ALGORITHMS.iter().find(|(known, _)| *known == identifier)?;
    Some(digest::digest(hash, certificate).as_ref().to_vec())
}

/// Returns the content of the first DER element, which must have this tag, and the rest after it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    if found == tag { rest.split_at_checked(length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_certificates_have_no_binding() {
        for broken in [&b""[..], &[0x30], &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30, 0x80], &[0x02, 1, 0]]
        {
            assert_eq!(of(broken), None);
        }
    }
}
