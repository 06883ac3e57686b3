//! What is redacted and what stays, independent of where the bytes were split.

use super::super::Stream;
use super::*;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    let made: Vec<(Secret, Known)> = secrets
        .iter()
        .map(|(name, value)| (Secret::new(name, value.as_bytes().to_vec()), Known::Declared))
        .collect();
    Redactor::new(&made)
}

fn streamed(redactor: &Redactor, bytes: &[u8], size: usize) -> Vec<u8> {
    let (mut stream, mut out) = (Stream::new(redactor.clone()), Vec::new());
    bytes.chunks(size).for_each(|piece| stream.push(piece, &mut out));
    stream.finish(&mut out);
    out
}

#[test]
fn a_secret_is_taken_out_and_everything_else_stays() {
    let redactor = redactor(&[("KEY", "hunter2-hunter2"), ("OTHER", "correct horse")]);
    assert_eq!(redactor.text("a hunter2-hunter2 b correct horse."), "a [secret KEY] b [secret OTHER].");
    assert_eq!(redactor.text("hunter2-hunter and correct"), "hunter2-hunter and correct");
    assert_eq!(redactor.text("x=68756e746572322d68756e74657232;"), "x=[secret KEY];");
    assert!(matches!(redactor.bytes(b"nothing"), Cow::Borrowed(_)));
    assert!(Redactor::default().knows_none() && redactor.finds(b"aHVudGVyMi1odW50ZXIy"));
}

#[test]
fn forms_that_overlap_are_taken_out_whole() {
    let redactor = redactor(&[("A", "abcdefgh"), ("B", "ghijklmn")]);
    assert_eq!(redactor.text("<abcdefghijklmn>"), "<[secret A]>");
    for size in 1..20 {
        assert_eq!(streamed(&redactor, b"<abcdefghijklmn>abcdefg", size), b"<[secret A]>abcdefg", "{size}");
    }
}

#[test]
fn where_a_stream_is_cut_changes_nothing() {
    let redactor = redactor(&[
        ("KEY", "pa/ss\"wörd+1"),
        ("LONG", "first-line-of-it\nsecond-line-of-it"),
        ("P", "ssssssss"),
    ]);
    let text = "x pa/ss\"wörd+1 pa/ss\"wörd pa\\/ss\\\"w\\u00f6rd+1 y\nfirst-line-of-it\n\nsecond-line-of-it pa%2Fss%22w%C3%B6rd%2B1 \
                first-line-of-it\nsecond-line-of-it sssssssssss ss";
    let whole = redactor.text(text);
    assert!(!redactor.finds(whole.as_bytes()), "{whole}");
    for size in 1..text.len() {
        let out = streamed(&redactor, text.as_bytes(), size);
        assert_eq!(String::from_utf8_lossy(&out), whole, "in pieces of {size}");
    }
}

#[test]
fn the_longest_form_is_kept_back_to_its_last_byte() {
    let value = "hunter2-hunter2";
    let (redactor, forms) = (redactor(&[("KEY", value)]), super::forms::all(value.as_bytes()));
    let longest = forms.iter().max_by_key(|form| form.len()).expect("forms");
    let (mut stream, mut out) = (Stream::new(redactor), Vec::new());
    let (last, begin) = longest.split_last().expect("a form");
    stream.push(begin, &mut out);
    assert_eq!(out, b"");
    stream.push(&[*last], &mut out);
    stream.finish(&mut out);
    assert_eq!(out, b"[secret KEY]");
}

#[test]
fn only_what_may_begin_a_secret_is_kept_back() {
    let redactor = redactor(&[("KEY", "hunter2-hunter2")]);
    let (mut stream, mut out) = (Stream::new(redactor), Vec::new());
    stream.push(b"a whole line\n", &mut out);
    assert_eq!(out, b"a whole line\n");
    stream.push(b"hunt", &mut out);
    assert_eq!(out, b"a whole line\n");
    stream.push(b"ing", &mut out);
    assert_eq!(out, b"a whole line\nhunting");
}

#[test]
fn documents_lose_secrets_in_values_keys_and_numbers() {
    let redactor = redactor(&[("KEY", "hunter2\"hunter2"), ("PIN", "12345678")]);
    let mut value = serde_json::json!({ "a hunter2\"hunter2": ["hunter2\"hunter2", 12_345_678, 1, null] });
    redactor.value(&mut value);
    assert_eq!(value, serde_json::json!({ "a [secret KEY]": ["[secret KEY]", "[secret PIN]", 1, null] }));
}

#[test]
fn what_is_stored_keeps_its_kind_or_is_refused() {
    use acquit_core::event::{Body, Level};
    let notice = |text: &str| Body::notice(Level::Info, text);
    let one = redactor(&[("KEY", "hunter2\nhunter2")]);
    assert_eq!(one.stored(notice("is hunter2\nhunter2")), Some(notice("is [secret KEY]")));
    assert_eq!(one.stored(notice("clean")), Some(notice("clean")));
    assert_eq!(redactor(&[("KEY", "notice")]).stored(notice("x")), None);
}

#[test]
fn a_passed_value_is_hidden_but_is_no_reason_to_refuse_a_commit() {
    let secrets = [(Secret::new("MODEL", b"large-model".to_vec()), Known::Passed)];
    let redactor = Redactor::new(&secrets);
    assert_eq!(redactor.text("the large-model"), "the [secret MODEL]");
    assert_eq!(redactor.declared(b"the large-model"), None);
    let both = redactor.with(&[Secret::new("KEY", b"large-model".to_vec())]);
    assert_eq!(both.declared(b"the large-model"), Some("KEY"));
}

#[test]
fn what_cannot_be_cleaned_or_is_too_deep_to_be_looked_at_is_removed() {
    use std::fs;
    let folder = tempfile::tempdir().expect("a folder");
    let redactor = redactor(&[("KEY", "hunter2-hunter2")]);
    fs::write(folder.path().join("log"), "hunter2-hunter2").expect("a file");
    // Blocks the path of the redacted copy.
    fs::create_dir_all(folder.path().join("log.acquit-clean/in")).expect("a folder");
    assert!(redactor.file(&folder.path().join("log")).is_err());
    assert!(!folder.path().join("log").exists(), "nobody finds it there");
    let (mut deep, mut last) = (folder.path().to_owned(), folder.path().to_owned());
    for _ in 0..40 {
        last.clone_from(&deep);
        deep.push("d");
    }
    fs::create_dir_all(&deep).expect("folders");
    fs::write(deep.join("log"), "hunter2-hunter2").expect("a file");
    redactor.folder(folder.path()).expect("cleaned");
    assert!(!last.exists() && folder.path().join("d/d/d").exists());
}

#[test]
fn a_declared_value_that_overlaps_one_that_is_passed_gives_its_name() {
    let secrets = [
        (Secret::new("MODEL", b"large-model".to_vec()), Known::Passed),
        (Secret::new("KEY", b"model-key".to_vec()), Known::Declared),
    ];
    assert_eq!(Redactor::new(&secrets).declared(b"the large-model-key"), Some("KEY"));
}

#[test]
fn files_are_replaced_by_clean_ones_and_links_are_left() {
    use std::fs;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let redactor = redactor(&[("KEY", "hunter2-hunter2")]);
    fs::create_dir(at("sub")).expect("a folder");
    fs::write(at("sub/log"), [vec![b'x'; 65_530], b"hunter2-hunter2\xff".to_vec()].concat()).expect("a file");
    fs::write(at("clean"), "clean").expect("a file");
    fs::write(at("hunter2-hunter2.txt"), "x").expect("a file");
    let outside = tempfile::NamedTempFile::new().expect("a file");
    fs::write(outside.path(), "hunter2-hunter2").expect("written");
    std::os::unix::fs::symlink(outside.path(), at("link")).expect("a link");
    std::os::unix::fs::symlink("/hunter2-hunter2", at("telling")).expect("a link");
    redactor.folder(folder.path()).expect("cleaned");
    let log = fs::read(at("sub/log")).expect("there");
    assert!(log.ends_with(b"x[secret KEY]\xff"));
    assert_eq!(fs::read(at("clean")).expect("there"), b"clean");
    assert_eq!(fs::read(outside.path()).expect("there"), b"hunter2-hunter2");
    assert!(!at("hunter2-hunter2.txt").exists() && at("telling").symlink_metadata().is_err());
    assert!(at("link").symlink_metadata().is_ok());
}
