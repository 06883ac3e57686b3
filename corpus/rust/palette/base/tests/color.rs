use palette::{Color, ParseColorError};

#[test]
fn parses_hex() {
    assert_eq!("#3366cc".parse(), Ok(Color::new(0x33, 0x66, 0xcc)));
}

#[test]
fn parses_upper_case() {
    assert_eq!("#3366CC".parse(), Ok(Color::new(0x33, 0x66, 0xcc)));
}

#[test]
fn refuses_other_lengths() {
    let error = "#12345".parse::<Color>();
    assert_eq!(error, Err(ParseColorError("#12345".to_string())));
}

#[test]
fn refuses_other_letters() {
    assert!("#33xx00".parse::<Color>().is_err());
}

#[test]
fn error_has_the_text() {
    let error = "blue".parse::<Color>().unwrap_err();
    assert_eq!(error.to_string(), "not a colour: blue");
}

#[test]
fn displays_as_hex() {
    assert_eq!(Color::new(0x33, 0x66, 0xcc).to_string(), "#3366cc");
}
