//! Hexadecimal encoding.

/// Encodes each byte as two lowercase digits.
pub fn encode(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Decodes digits of either case. Returns `None` if they are not pairs of hexadecimal digits.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else_is() {
        assert_eq!(encode(&[0, 0x0f, 0xa0, 0xff]), "000fa0ff");
        assert_eq!(decode("000fA0ff"), Some(vec![0, 0x0f, 0xa0, 0xff]));
        for bad in ["0", "0g", "+1", "é0", " 00"] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }
}
