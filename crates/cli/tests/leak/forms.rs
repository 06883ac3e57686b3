//! The forms of a secret, made here by other means than those that are tested.

/// Every form in which it must not be found.
pub(crate) fn forms(value: &str) -> Vec<Vec<u8>> {
    let bytes = value.as_bytes();
    let hex = |prefix: &str, upper: bool| -> String {
        let one =
            |byte: &u8| if upper { format!("{prefix}{byte:02X}") } else { format!("{prefix}{byte:02x}") };
        bytes.iter().map(one).collect()
    };
    let json = serde_json::to_string(value).unwrap();
    let mut forms = vec![
        value.to_owned(),
        hex("", false),
        hex("", true),
        hex("%", false),
        hex("%", true),
        hex("\\u00", false),
        hex("\\u00", true),
        json[1..json.len() - 1].to_owned(),
    ];
    for before in 0..3 {
        let bits: Vec<String> = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
        let bits = bits.concat();
        // The letters that hold bits of the value alone.
        let skipped = (6 - before * 8 % 6) % 6;
        let bits = &bits[skipped..];
        let letter = |six: &[u8]| -> char {
            let six = u8::from_str_radix(std::str::from_utf8(six).unwrap(), 2).unwrap();
            char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[usize::from(six)])
        };
        let letters: String = bits.as_bytes().chunks_exact(6).map(letter).collect();
        forms.push(letters.replace('+', "-").replace('/', "_"));
        forms.push(letters);
    }
    forms.into_iter().map(String::into_bytes).collect()
}
