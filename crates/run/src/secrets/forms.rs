//! The forms in which programs print a value: unchanged, and in the usual encodings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::SHORTEST;

/// Minimum length of a line of a secret that is searched on its own. Shorter ones are words that other texts contain
/// too.
const SHORTEST_LINE: usize = 8;

/// Line lengths at which common tools wrap base64.
const BREAKS: [usize; 2] = [64, 76];

/// Minimum length of a piece of wrapped base64 that is searched on its own.
const SHORTEST_PIECE: usize = 16;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Characters, in addition to letters and digits, that URL encoders keep: those for components, for scripts, and for
/// whole addresses.
const UNTOUCHED: [&[u8]; 3] = [b"-_.~", b"-_.!~*'()", b"-_.!~*'();/?:@&=+$,#"];

/// Returns every form of a value, each once.
pub(super) fn all(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::new();
    encodings(value, &mut forms);
    // Programs that use a value trim the white space that an environment file or a command may have left around it.
    let bare = value.trim_ascii();
    if bare.len() != value.len() {
        encodings(bare, &mut forms);
    }
    if value.contains(&b'\n') {
        for line in value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            // The first and the last line are the same in all key files.
            if line.len() >= SHORTEST_LINE && !line.starts_with(b"-----") {
                encodings(line, &mut forms);
            }
        }
    }
    forms.retain(|form| form.len() >= SHORTEST);
    forms
}

fn encodings(value: &[u8], forms: &mut BTreeSet<Vec<u8>>) {
    forms.insert(value.to_vec());
    for alphabet in [STANDARD, URL_SAFE] {
        base64(value, alphabet, forms);
    }
    for case in [Case::Lower, Case::Upper] {
        forms.insert(value.iter().flat_map(|byte| hex(*byte, case)).collect());
        forms.insert(percent(value, &[], case, Letters::Too));
        for untouched in UNTOUCHED {
            let form = percent(value, untouched, case, Letters::Stay);
            // HTML forms and old scripts write a space as a plus.
            let plus: Vec<u8> = String::from_utf8_lossy(&form).replace("%20", "+").into_bytes();
            forms.insert(plus);
            forms.insert(form);
        }
    }
    if let Ok(text) = std::str::from_utf8(value) {
        json(text, forms);
    }
}

#[derive(Clone, Copy)]
enum Case {
    Lower,
    Upper,
}

fn hex(byte: u8, case: Case) -> [u8; 2] {
    let digits: &[u8; 16] = match case {
        Case::Lower => b"0123456789abcdef",
        Case::Upper => b"0123456789ABCDEF",
    };
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

#[derive(Clone, Copy)]
enum Letters {
    /// Letters and digits are encoded too.
    Too,
    Stay,
}

fn percent(value: &[u8], untouched: &[u8], case: Case, letters: Letters) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len() * 3);
    for byte in value {
        let stays = match letters {
            Letters::Too => false,
            Letters::Stay => byte.is_ascii_alphanumeric() || untouched.contains(byte),
        };
        if stays {
            out.push(*byte);
        } else {
            out.push(b'%');
            out.extend(hex(*byte, case));
        }
    }
    out
}

/// Base64 of a text that contains the value somewhere: at each of the three offsets, its inner characters don't depend
/// on the text around it. At the end of a text, the last character and the padding are known as well.
fn base64(value: &[u8], alphabet: &[u8; 64], forms: &mut BTreeSet<Vec<u8>>) {
    for offset in 0..3 {
        let mut padded = vec![0; offset];
        padded.extend_from_slice(value);
        let letters = encode(&padded, alphabet);
        // Skip characters that contain bits of what is before or after the value.
        let first = (offset * 8).div_ceil(6);
        let inner = padded.len() * 8 / 6;
        let Some(core) = letters.get(first..inner) else { continue };
        forms.insert(core.to_vec());
        if inner < letters.len() {
            forms.insert(letters[first..].to_vec());
            let mut whole = letters[first..].to_vec();
            whole.resize(whole.len() + (4 - letters.len() % 4) % 4, b'=');
            forms.insert(whole);
        }
        if offset == 0 {
            for width in BREAKS.into_iter().filter(|width| letters.len() > *width) {
                let pieces = letters.chunks(width).filter(|piece| piece.len() >= SHORTEST_PIECE);
                forms.extend(pieces.map(<[u8]>::to_vec));
            }
        }
    }
}

/// Encodes base64 without padding.
fn encode(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..=group.len() {
            out.push(alphabet[(bits >> (18 - 6 * letter) & 63) as usize]);
        }
    }
    out
}

/// Adds the inside of a JSON string as different writers produce it, and once more nested in another string.
fn json(text: &str, forms: &mut BTreeSet<Vec<u8>>) {
    let plain = quoted(text);
    forms.insert(quoted(&plain).into_bytes());
    forms.insert(plain.replace('/', "\\/").into_bytes());
    for case in [Case::Lower, Case::Upper] {
        forms.insert(escaped(&plain, case, char::is_ascii).into_bytes());
        forms.insert(escaped(text, case, |_| false).into_bytes());
        // Writers that escape markup characters.
        forms.insert(escaped(&plain, case, |c| c.is_ascii() && !"<>&'+".contains(*c)).into_bytes());
    }
    forms.insert(plain.into_bytes());
}

fn quoted(text: &str) -> String {
    let whole = serde_json::Value::from(text).to_string();
    whole[1..whole.len() - 1].to_owned()
}

/// Replaces every character for which `stays` is false by `\uXXXX`.
fn escaped(text: &str, case: Case, stays: impl Fn(&char) -> bool) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if stays(&character) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = match case {
                Case::Lower => write!(out, "\\u{unit:04x}"),
                Case::Upper => write!(out, "\\u{unit:04X}"),
            };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_at_every_offset_and_with_every_ending() {
        let value = b"s3cret/value+with~bits";
        let forms = all(value);
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "\n", "xy", "xyz"] {
                let text = [before.as_bytes(), value, after.as_bytes()].concat();
                for alphabet in [STANDARD, URL_SAFE] {
                    let encoded = encode(&text, alphabet);
                    let found = forms.iter().any(|form| encoded.windows(form.len()).any(|part| part == form));
                    assert!(found, "{before:?} {after:?}");
                }
            }
        }
        assert_eq!(encode(b"Man", STANDARD), b"TWFu");
        assert_eq!(encode(b"Ma", STANDARD), b"TWE");
    }

    #[test]
    fn the_usual_encodings_are_among_the_forms() {
        let forms = all("pä\"ss w/rd".as_bytes());
        for form in [
            "pä\"ss w/rd",
            "p%C3%A4%22ss%20w%2Frd",
            "p%c3%a4%22ss+w%2frd",
            "%70%C3%A4%22%73%73%20%77%2F%72%64",
            "70c3a4227373",
            "pä\\\"ss w/rd",
            "p\\u00e4\\\"ss w/rd",
            "p\\u00E4\\\"ss w/rd",
            "pä\\\"ss w\\/rd",
            "\\u0070\\u00e4\\u0022\\u0073\\u0073\\u0020\\u0077\\u002f\\u0072\\u0064",
            "pä\\\\\\\"ss w/rd",
        ] {
            let there = forms.iter().any(|it| it.starts_with(form.as_bytes()));
            assert!(there, "{form}");
        }
    }

    #[test]
    fn a_value_is_found_without_the_blanks_around_it() {
        // From an environment file that was written elsewhere, or a command that prints an empty line.
        for value in ["s3cret-1\r", "s3cret-1\r\n", " s3cret-1 ", "s3cret-1\n\n", "\ts3cret-1"] {
            let forms = all(value.as_bytes());
            assert!(forms.contains(b"s3cret-1".as_slice()), "{value:?}");
            assert!(forms.contains(b"czNjcmV0LTE=".as_slice()), "{value:?}");
        }
        assert!(all(b"s3cr3t\r").contains(b"s3cr3t".as_slice()), "as short as a value may be");
    }

    #[test]
    fn lines_of_a_key_are_found_and_its_frame_is_not() {
        let forms = all(b"-----BEGIN KEY-----\nMIIBVgIBADANBgkqh\nshort\n-----END KEY-----");
        assert!(forms.contains(b"MIIBVgIBADANBgkqh".as_slice()));
        assert!(!forms.contains(b"-----BEGIN KEY-----".as_slice()) && !forms.contains(b"short".as_slice()));
    }
}
