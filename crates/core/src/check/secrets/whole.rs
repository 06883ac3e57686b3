//! Finds secrets that span several lines: private keys, Kubernetes manifests, and files whose name marks them as
//! secret.

use std::sync::LazyLock;

use regex::Regex;

use super::entropy::is_random;
use super::examples::{is_placeholder, is_words};
use super::table;
use crate::check::diff::{FileChange, Line};
use crate::pattern::pattern;

/// Returns the kind of a file that holds only keys, by its name; `None` for any other file.
pub(super) fn by_name(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if matches!(
        name.as_str(),
        "id_rsa" | "id_dsa" | "id_ecdsa" | "id_ed25519" | "secring.gpg" | "secring.pgp"
    ) {
        return Some("private key file");
    }
    if ends(&[
        ".p12",
        ".pfx",
        ".jks",
        ".keystore",
        ".kdbx",
        ".bcfks",
        ".keychain",
        ".ppk",
        ".agilekeychain",
        ".pkcs12",
    ]) {
        return Some("key store");
    }
    None
}

/// Finds the header of a private key that is followed by a key. The header alone also appears in programs that
/// parse keys.
pub(super) fn private_key(lines: &[&Line], index: usize) -> Option<String> {
    let line = &lines[index].text;
    if line.trim_start().starts_with("PuTTY-User-Key-File-") {
        let near = lines
            .iter()
            .skip(index)
            .take(30)
            .any(|line| line.text.trim_start().starts_with("Private-Lines:"));
        return near.then(|| "PuTTY-User-Key-File".to_owned());
    }
    let header = table::PRIVATE_KEY.find(line)?;
    let rest = &line[header.end()..];
    let inline = rest.strip_prefix("\\n").or_else(|| rest.strip_prefix("\\r\\n")).unwrap_or(rest);
    let inline = inline.trim_start_matches(['\\', 'n']);
    // PEM headers and an empty line can precede the key.
    let below = lines.iter().skip(index + 1).take(6).map(|line| line.text.as_str());
    // The first line of an OpenSSH key has long runs of one letter, like placeholders; the next lines don't.
    let below = below.filter(|text| !text.trim().is_empty() && !is_armour_header(text)).take(3);
    (is_key_text(inline) || below.into_iter().any(is_key_text)).then(|| header.as_str().to_owned())
}

fn is_armour_header(text: &str) -> bool {
    ["Version:", "Comment:", "Proc-Type:", "DEK-Info:", "Hash:", "Charset:"]
        .iter()
        .any(|start| text.trim().trim_start_matches(['"', '\'']).starts_with(start))
}

fn is_key_text(text: &str) -> bool {
    let trimmed = text.trim().trim_start_matches(['"', '\'', '`', '+', ' ', '>', '|', '#', '/', '*']);
    let letters =
        trimmed.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte)).count();
    letters >= 32 && !is_placeholder(trimmed.get(..letters).unwrap_or_default())
}

/// Finds the values of a Kubernetes secret, which are encoded but not protected.
pub(super) fn manifest(file: &FileChange) -> Vec<(&Line, &'static str, String)> {
    static ENTRY: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"^\s+["']?([\w.-]+)["']?:\s*["']?([^\s"'#]{6,})["']?\s*$"#));
    let is_yaml = [".yml", ".yaml"].iter().any(|end| file.path().ends_with(end));
    if !is_yaml || !file.lines.iter().any(|line| line.text.trim() == "kind: Secret") {
        return Vec::new();
    }
    let mut section = "";
    let mut found = Vec::new();
    for line in file.added() {
        let text = line.text.as_str();
        match text.trim_end() {
            "data:" => section = "data",
            "stringData:" => section = "stringData",
            _ if !text.starts_with([' ', '\t']) => section = "",
            _ => {}
        }
        let Some(entry) = ENTRY.captures(text).filter(|_| !section.is_empty()) else { continue };
        let value = entry[2].to_owned();
        let plain = if section == "data" { decode(&value) } else { Some(value.clone()) };
        let Some(plain) = plain else { continue };
        let key = table::PRIVATE_KEY.is_match(&plain);
        if key || (is_random(plain.trim(), true) && !is_placeholder(plain.trim()) && !is_words(&plain)) {
            found.push((line, "Kubernetes secret", value));
        }
    }
    found
}

/// Decodes base64 if the result is text.
pub(super) fn decode(value: &str) -> Option<String> {
    let digit = |byte: u8| -> Option<u32> {
        match byte {
            b'A'..=b'Z' => Some(u32::from(byte - b'A')),
            b'a'..=b'z' => Some(u32::from(byte - b'a') + 26),
            b'0'..=b'9' => Some(u32::from(byte - b'0') + 52),
            b'+' | b'-' => Some(62),
            b'/' | b'_' => Some(63),
            _ => None,
        }
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0_u32);
    for byte in value.trim_end_matches('=').bytes() {
        bits = (bits << 6 | digit(byte)?) & 0x00ff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.chars().all(|char| !char.is_control() || char.is_whitespace())).then_some(text)
}
