//! Placeholders of cases: secrets and random text that must not be in this repository. The same case always gives the
//! same text.

use std::collections::BTreeMap;

/// Maximum nesting of placeholders; more is a mistake.
const DEEPEST: usize = 6;

/// Expands the placeholders of one case.
pub(super) struct Expander<'a> {
    state: u64,
    kinds: &'a BTreeMap<String, String>,
}

/// Hashes a text to a number that is the same on every machine (FNV-1a).
pub(super) fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl<'a> Expander<'a> {
    pub(super) fn new(case: &str, kinds: &'a BTreeMap<String, String>) -> Self {
        Self { state: number(case) | 1, kinds }
    }

    /// Replaces the placeholders in a text. Other braces, such as expressions of a pipeline, stay.
    pub(super) fn expand(&mut self, text: &str) -> String {
        self.deeper(text, 0)
    }

    fn deeper(&mut self, text: &str, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            out.push_str(&rest[..at]);
            let inside = &rest[at + 2..];
            let end = closing(inside);
            let value = end.and_then(|end| self.value(&inside[..end], depth));
            if let (Some(value), Some(end)) = (value, end) {
                out.push_str(&value);
                rest = &inside[end + 2..];
            } else {
                out.push_str("{{");
                rest = inside;
            }
        }
        out.push_str(rest);
        out
    }

    fn value(&mut self, inside: &str, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        if inside == "dash" {
            return Some("-----".to_owned());
        }
        let (word, rest) = inside.split_once(':')?;
        match word {
            "secret" => {
                let kind = self.kinds.get(rest)?.clone();
                Some(self.deeper(&kind, depth + 1))
            }
            "base64" => {
                let text = self.deeper(rest, depth + 1);
                Some(encode(text.as_bytes()))
            }
            "random" | "lines" => {
                let (name, count) = rest.split_once(':')?;
                let (alphabet, count) = (alphabet(name)?, count.parse::<usize>().ok()?);
                let mut out = String::new();
                for index in 0..count {
                    if word == "lines" && index > 0 && index % 64 == 0 {
                        out.push('\n');
                    }
                    out.push(alphabet[self.next(alphabet.len())]);
                }
                Some(out)
            }
            _ => None,
        }
    }

    /// xorshift64*: random enough that nothing repeats.
    fn next(&mut self, below: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let mixed = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(mixed % below.max(1) as u64).unwrap_or(0)
    }
}

/// Returns the position of the braces that close those opened before this text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['{', '}'])) {
        let here = at + found;
        if text[here..].starts_with("{{") {
            depth += 1;
            at = here + 2;
        } else if text[here..].starts_with("}}") {
            depth -= 1;
            if depth == 0 {
                return Some(here);
            }
            at = here + 2;
        } else {
            at = here + 1;
        }
    }
    None
}

fn alphabet(name: &str) -> Option<Vec<char>> {
    let text: String = match name {
        "base62" => ('A'..='Z').chain('a'..='z').chain('0'..='9').collect(),
        "hex" => "0123456789abcdef".to_owned(),
        "lower" => ('a'..='z').chain('0'..='9').collect(),
        "upper" => ('A'..='Z').chain('0'..='9').collect(),
        "digits" => ('0'..='9').collect(),
        "base64" => ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("+/".chars()).collect(),
        "base64url" => ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("-_".chars()).collect(),
        "base32" => ('A'..='Z').chain('2'..='7').collect(),
        "bech32" => "qpzry9x8gf2tvdw0s3jn54khce6mua7l".to_owned(),
        "password" => ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("!#%*-_".chars()).collect(),
        _ => return None,
    };
    Some(text.chars().collect())
}

const TABLE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let block = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |block, (at, byte)| block | u32::from(*byte) << (16 - 8 * at));
        for at in 0..4 {
            let letter = TABLE[(block >> (18 - 6 * at) & 63) as usize];
            out.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

/// Decodes base64; skips other characters.
pub(super) fn decode(text: &str) -> Vec<u8> {
    let values = text.bytes().filter_map(|byte| TABLE.iter().position(|letter| *letter == byte));
    let (mut out, mut block, mut bits) = (Vec::new(), 0_usize, 0_u32);
    for value in values {
        block = block << 6 | value;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(block >> bits & 255).unwrap_or(0));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_expanded_the_same_way_each_time_and_nothing_else_is() {
        let kinds = [("pat".to_owned(), "ghp_{{random:digits:5}}".to_owned())].into();
        let text = "a {{secret:pat}} {{dash}} {{base64:u:{{random:hex:3}}}} ${{ matrix.x }} {{unknown:1}}";
        let (one, two) = (Expander::new("x", &kinds).expand(text), Expander::new("x", &kinds).expand(text));
        assert_eq!(one, two);
        assert!(one.starts_with("a ghp_") && one.contains(" ----- "), "{one}");
        assert!(one.ends_with(" ${{ matrix.x }} {{unknown:1}}"), "{one}");
        assert_ne!(one, Expander::new("y", &kinds).expand(text));
        assert_eq!(decode(&encode(b"hello")), b"hello");
        assert_eq!(encode(b"ab"), "YWI=");
    }
}
