//! Lines with and without secrets, counted. The secrets are made when the test runs, so that no scanner finds one here.

use acquit_core::check::diff::CommitDiff;
use acquit_core::check::secrets::secrets;
use globset::GlobSet;

use crate::kit::change;

/// A text of so many characters that looks drawn, the same in every run.
fn drawn(alphabet: &str, length: usize, seed: &mut u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    (0..length)
        .map(|_| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            letters[usize::try_from(*seed >> 33).unwrap() % letters.len()]
        })
        .collect()
}

/// `{a:36}` stands for 36 letters and digits, `{h:32}` for hexadecimal ones, and so on.
fn made(template: &str, seed: &mut u64) -> String {
    const ALPHABETS: [(&str, &str); 7] = [
        ("a", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
        ("h", "0123456789abcdef"),
        ("d", "123456789"),
        ("u", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        ("b", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
        ("l", "abcdefghijklmnopqrstuvwxyz0123456789"),
        ("p", "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!?+-_"),
    ];
    let mut text = template.to_owned();
    while let Some(start) = text.find("{{") {
        let end = start + text[start..].find("}}").unwrap();
        let (kind, length) = text[start + 2..end].split_once(':').unwrap();
        let alphabet = ALPHABETS.iter().find(|(name, _)| *name == kind).unwrap().1;
        let value = drawn(alphabet, length.parse().unwrap(), seed);
        text.replace_range(start..end + 2, &value);
    }
    text
}

fn finds(path: &str, text: &str) -> bool {
    let diff = change(&[(path, None, Some(text))]);
    !secrets(&[CommitDiff { id: "c".to_owned(), diff }], &GlobSet::empty()).is_empty()
}

const TRUE: &str = include_str!("secrets/true.txt");
const BENIGN: &str = include_str!("secrets/benign.txt");

/// `path | line`, with `\n` for the end of a line.
fn lines(text: &str) -> impl Iterator<Item = (&str, String)> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("## ")).map(|line| {
        let (path, text) = line.split_once(" | ").unwrap();
        (path, format!("{}\n", text.replace("\\n", "\n")))
    })
}

#[test]
fn what_is_secret_is_found_and_what_is_not_is_left_alone() {
    let mut seed = 42;
    let (mut missed, mut alarms, mut counts) = (Vec::new(), Vec::new(), (0, 0));
    for (path, text) in lines(TRUE) {
        counts.0 += 1;
        let text = made(&text, &mut seed);
        if !finds(path, &text) {
            missed.push(format!("{path} | {text}"));
        }
    }
    for (path, text) in lines(BENIGN) {
        counts.1 += 1;
        let text = made(&text, &mut seed);
        if finds(path, &text) {
            alarms.push(format!("{path} | {text}"));
        }
    }
    assert!(
        missed.is_empty() && alarms.is_empty(),
        "{} of {} missed:\n{}\n{} of {} alarms:\n{}",
        missed.len(),
        counts.0,
        missed.concat(),
        alarms.len(),
        counts.1,
        alarms.concat()
    );
    assert!(counts.0 >= 100 && counts.1 >= 100, "{counts:?}");
}
