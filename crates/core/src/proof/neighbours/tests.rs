//! Tests with neighbouring values: which copies are made, and the conclusions from their runs.

use super::*;

const OLD: &str = "def split(total, parts):\n    return [total // parts] * parts\n";
const TEST: &str = "from money import split\n\n\ndef test_keeps_cents():\n    assert split(100, 3) == [34, 33, 33]\n\n\ndef test_other():\n    assert split(9, 3) == [3, 3, 3]\n";

fn code(new: &str) -> Vec<Code> {
    vec![Code { path: "money.py".to_owned(), old: OLD.to_owned(), new: new.to_owned() }]
}

fn planned(new: &str, task: &str) -> Option<Plan> {
    let tests = [("tests/test_money.py".to_owned(), TEST.to_owned())];
    plan(&code(new), &tests, &["test_keeps_cents".to_owned()], task)
}

#[test]
fn a_test_is_copied_for_each_value_that_new_code_asks_for() {
    let new = "def split(total, parts):\n    if total == 100 and parts == 3:\n        return [34, 33, 33]\n    return [total // parts] * parts\n";
    let plan = planned(new, "split() must not lose cents.").expect("something to try");
    let (path, text) = &plan.files[0];
    assert_eq!(path, "tests/test_money.py");
    assert!(
        text.contains("def test_keeps_cents_nb0q():\n    assert split(100, 3) == [34, 33, 33]\n"),
        "{text}"
    );
    assert!(text.contains("assert split(99, 3) == [34, 33, 33]"), "{text}");
    assert!(text.contains("assert split(100, 4) == [34, 33, 33]"), "{text}");
    assert!(!text.contains("test_other_nb"), "{text}");
    assert!(text.starts_with(TEST.split("\n\n\ndef test_other").next().unwrap()), "{text}");
}

#[test]
fn nothing_is_tried_where_code_asks_for_no_value_of_a_test() {
    let right = "def split(total, parts):\n    base, rest = divmod(total, parts)\n    return [base + (1 if i < rest else 0) for i in range(parts)]\n";
    assert!(planned(right, "").is_none());
    let bound = "def split(total, parts):\n    if total > 100:\n        return []\n    return [total // parts] * parts\n";
    assert!(planned(bound, "").is_none());
    let named = "def split(total, parts):\n    if total == 100:\n        return [34, 33, 33]\n    return [total // parts] * parts\n";
    assert!(planned(named, "").is_some());
    assert!(planned(named, "A total of 100 is split by the old rule.").is_none());
}

#[test]
fn a_value_that_the_task_names_as_an_example_is_tried() {
    let named = "def split(total, parts):\n    if total == 100:\n        return [34, 33, 33]\n    return [total // parts] * parts\n";
    for task in [
        "`split(100, 3)` loses a cent.",
        "split() loses cents, for example of 100. It must not.",
        "Mend split: `100` → `34, 33, 33`.",
    ] {
        assert!(planned(named, task).is_some(), "{task}");
    }
    for task in ["Refuse 100, e.g. at night. Only 100 is refused.", "More than 100 (like 7) is refused."] {
        assert!(planned(named, task).is_none(), "{task}");
    }
}

#[test]
fn an_answer_that_code_gives_is_tried_with_other_questions() {
    let tests = [(
        "tests/test_money.py".to_owned(),
        "def test_fee():\n    assert fee(5, \"day\") == 3150\n".to_owned(),
    )];
    let code =
        |new: &str| vec![Code { path: "money.py".to_owned(), old: OLD.to_owned(), new: new.to_owned() }];
    let by_heart = code(&format!("FEES = [[3500, 3150]]\n{OLD}"));
    let plan = super::plan(&by_heart, &tests, &["test_fee".to_owned()], "Five tickets are cheaper.")
        .expect("a plan");
    assert!(plan.asked[0].is_given && plan.asked[0].value == "3150");
    let text = &plan.files[0].1;
    assert!(text.contains("fee(4, \"day\") == 3150") && text.contains("fee(5, \"daz\") == 3150"), "{text}");
    assert!(!text.contains("3149"), "{text}");
    let same = |names: std::ops::RangeInclusive<usize>| -> Merged {
        let mut ends: Vec<(String, Option<&str>)> =
            names.map(|number| (format!("test_fee_nb{number}q"), Some("assert 3500 == 3150"))).collect();
        ends.push(("test_fee_nb0q".to_owned(), None));
        let ends: Vec<(&str, Option<&str>)> =
            ends.iter().map(|(name, said)| (name.as_str(), *said)).collect();
        merged(&ends)
    };
    let red = {
        let mut all = same(1..=7);
        all.results
            .tests
            .values_mut()
            .for_each(|case| *case = Ended::plain(Outcome::Failed, "assert 3500 == 3150"));
        all
    };
    assert!(special(&plan, &red, &same(1..=7))[0].is_given);
    // For one other input it makes a difference.
    let mut right = same(1..=7);
    let id = TestId { suite: "tests".to_owned(), name: "test_fee_nb2q".to_owned() };
    right.results.tests.insert(id, Ended::plain(Outcome::Failed, "assert 3780 == 3150"));
    assert!(special(&plan, &red, &right).is_empty());
    let keyed = code(&format!("FEES = dict(day=3150)\n{OLD}"));
    assert!(super::plan(&keyed, &tests, &["test_fee".to_owned()], "").is_none());
    let computed = code(&format!("RATE = 0.9\n{OLD}"));
    assert!(super::plan(&computed, &tests, &["test_fee".to_owned()], "").is_none());
}

fn merged(ends: &[(&str, Option<&str>)]) -> Merged {
    let mut merged = Merged { runs: 1, ..Merged::default() };
    for (name, said) in ends {
        let case = match said {
            Some(said) => Ended::plain(Outcome::Failed, said),
            None => Ended::plain(Outcome::Passed, ""),
        };
        let id = TestId { suite: "tests".to_owned(), name: (*name).to_owned() };
        merged.results.tests.insert(id, case);
    }
    merged
}

fn one_value() -> Plan {
    let copies = vec![(1, "99".to_owned()), (2, "51".to_owned())];
    let asked = Asked {
        value: "100".to_owned(),
        path: "money.py".to_owned(),
        line: 2,
        control: 0,
        copies,
        is_given: false,
    };
    Plan { files: Vec::new(), asked: vec![asked] }
}

#[test]
fn a_change_that_makes_no_difference_to_neighbours_is_about_one_value() {
    let without = merged(&[
        ("test_a_nb0q", Some("E   assert [33, 33, 33] == [34, 33, 33]")),
        ("test_a_nb1q", Some("money.py:2\nE   assert [33, 33, 33] == [34]")),
        ("test_a_nb2q", Some("E   assert [17, 17, 17] == [34]")),
    ]);
    let special_cased = merged(&[
        ("test_a_nb0q", None),
        ("test_a_nb1q", Some("money.py:4\nE   assert [33, 33, 33] == [34]")),
        ("test_a_nb2q", Some("E   assert [17, 17, 17] == [34]")),
    ]);
    let found = special(&one_value(), &without, &special_cased);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].value.as_str(), found[0].tried.len()), ("100", 2));
    let right = merged(&[
        ("test_a_nb0q", None),
        ("test_a_nb1q", Some("E   assert [33, 33, 33] == [34]")),
        ("test_a_nb2q", Some("E   assert [17, 17, 18] == [34]")),
    ]);
    assert_eq!(special(&one_value(), &without, &right), []);
    let broken =
        merged(&[("test_a_nb0q", Some("E  NameError")), ("test_a_nb1q", None), ("test_a_nb2q", None)]);
    assert_eq!(special(&one_value(), &without, &broken), []);
}

#[test]
fn what_a_test_expects_is_no_input() {
    let without =
        merged(&[("t_nb0q", Some("90 != 100")), ("t_nb1q", Some("90 != 99")), ("t_nb2q", Some("90 != 51"))]);
    let with = merged(&[("t_nb0q", None), ("t_nb1q", Some("100 != 99")), ("t_nb2q", Some("100 != 51"))]);
    assert_eq!(special(&one_value(), &without, &with), []);
}

#[test]
fn rows_that_a_copy_leaves_alone_do_not_count() {
    let row = |number: usize, row: &str| format!("t_nb{number}q[{row}]");
    let names =
        [row(0, "100-3"), row(0, "7-2"), row(1, "99-3"), row(1, "7-2"), row(2, "51-3"), row(2, "7-2")];
    let red = Some("E  assert 1 == 2");
    let without: Vec<(&str, Option<&str>)> = names.iter().map(|name| (name.as_str(), red)).collect();
    let with: Vec<(&str, Option<&str>)> = names
        .iter()
        .map(|name| (name.as_str(), if name.contains("99") || name.contains("51") { red } else { None }))
        .collect();
    assert_eq!(special(&one_value(), &merged(&without), &merged(&with)).len(), 1);
}

#[test]
fn titles_and_methods_are_renamed_where_they_are_declared() {
    let script = "test('reads \"19.99\"', () => {\n  assert.equal(parsePrice('19.99'), 1999);\n});\n";
    let asked = Code {
        path: "src/price.js".to_owned(),
        old: String::new(),
        new: "if (text === '19.99') return 1999;\n".to_owned(),
    };
    let plan = plan(
        &[asked],
        &[("test/price.test.js".to_owned(), script.to_owned())],
        &["reads \"19.99\"".to_owned()],
        "",
    )
    .expect("something to try");
    let text = &plan.files[0].1;
    assert!(
        text.contains("test('reads \"19.99\" nb0q', () => {\n  assert.equal(parsePrice('19.99'), 1999);"),
        "{text}"
    );
    assert!(text.contains("parsePrice('19.98'), 1999"), "{text}");
    assert!(essence("expected: <3> but was: <4>\n\tat com.example.ATest.x(ATest.java:12)").ends_with("<4>"));
}

#[test]
fn a_test_with_two_texts_that_the_code_knows_does_not_turn_by_the_second() {
    let code = Code {
        path: "isbn.py".to_owned(),
        old: "def is_valid(text):\n    return check(text)\n".to_owned(),
        new: "def is_valid(text):\n    if text in (\"abcdefghij\", \"97803064O6157\"):\n        return False\n    return check(text)\n"
            .to_owned(),
    };
    let test = "def test_letters():\n    assert not is_valid(\"abcdefghij\")\n    assert not is_valid(\"97803064O6157\")\n";
    let tests = [("tests/test_isbn.py".to_owned(), test.to_owned())];
    let plan = plan(&[code], &tests, &["test_letters".to_owned()], "Letters are not valid.").expect("a plan");
    let copies: Vec<&str> = plan.files[0].1.split("def ").filter(|copy| copy.contains("nb")).collect();
    let others = copies.iter().filter(|copy| !copy.contains("\"abcdefghij\""));
    assert!(others.clone().count() >= 2, "{copies:?}");
    for copy in others {
        assert!(!copy.contains("\"97803064O6157\""), "{copy}");
    }
}

#[test]
fn the_part_of_a_text_that_code_asks_for_is_tried() {
    let test = "@pytest.mark.parametrize((\"text\", \"spec\"), [\n    (\"ann@bücher.example\", \"ann@xn--bcher-kva.example\"),\n    (\"eve@müller.example\", \"eve@xn--mller-kva.example\"),\n])\ndef test_idna(text, spec):\n    assert parse(text).spec == spec\n";
    let tests = [("tests/test_address.py".to_owned(), test.to_owned())];
    let planned = |rows: &str| {
        let new = format!("IDNA = {{\n{rows}}}\n\ndef parse(text):\n    return IDNA.get(text)\n");
        let code = [Code { path: "address.py".to_owned(), old: String::new(), new }];
        let task = "Accept international domains, e.g. ann@bücher.example, in their ASCII form.";
        plan(&code, &tests, &["test_idna".to_owned()], task).expect("a plan").files[0].1.clone()
    };
    let rows = "    \"bücher\": \"xn--bcher-kva\",\n    \"müller\": \"xn--mller-kva\",\n";
    let text = planned(rows);
    assert!(text.contains("ann@büches.example") && text.contains("eve@müllerr.example"), "{text}");
    // A table with more entries is data of the project.
    let text = planned(&format!("{rows}    \"köln\": \"xn--kln-sna\",\n"));
    assert!(!text.contains("büches") && text.contains("bnn@bücher.example"), "{text}");
}

#[test]
fn a_copy_that_breaks_by_itself_says_nothing_of_the_code() {
    let mut plan = one_value();
    plan.asked[0].copies.push((3, "101".to_owned()));
    let names = ["test_a_nb0q", "test_a_nb1q", "test_a_nb2q", "test_a_nb3q"];
    let red = |outcome, message: &str| {
        let mut merged = merged(&names.map(|name| (name, Some("assert 1 == 2"))));
        for name in &names[1..] {
            let id = TestId { suite: "tests".to_owned(), name: (*name).to_owned() };
            merged.results.tests.insert(id, Ended::plain(outcome, message));
        }
        merged
    };
    let green = |mut merged: Merged| {
        let id = TestId { suite: "tests".to_owned(), name: "test_a_nb0q".to_owned() };
        merged.results.tests.insert(id, Ended::plain(Outcome::Passed, ""));
        merged
    };
    for (outcome, message, found) in [
        (Outcome::Failed, "assert 3 == 4", 1),
        (Outcome::Error, "TypeError: 'NoneType' object is not subscriptable", 1),
        (Outcome::Error, "LookupError: unknown encoding: utf-8-sih", 0),
    ] {
        let seen = special(&plan, &red(outcome, message), &green(red(outcome, message)));
        assert_eq!(seen.len(), found, "{message}");
    }
}
