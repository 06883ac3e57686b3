//! Coverage of changed lines.

use acquit_core::check::coverage::Covered;
use acquit_core::gate::Format;
use globset::GlobSet;

use crate::kit::change;

const LCOV: &str = "TN:\nSF:/repo/src/a.rs\nFN:1,a\nDA:1,3\nDA:2,0\nDA:3,0,abc\nDA:7,1\nend_of_record\nSF:src/b.rs\nDA:1,1\nend_of_record\n";

fn lcov(text: &str) -> Covered {
    let mut covered = Covered::default();
    covered.add(Format::Lcov, text);
    covered
}

#[test]
fn only_changed_lines_that_can_be_executed_count() {
    let diff = change(&[
        ("src/a.rs", Some("1\nx\n4\n"), Some("1\n2\n3\n4\n// five\n\n7\n")),
        ("src/b.rs", Some("x\n"), Some("1\n")),
        ("README.md", None, Some("words\n")),
        ("gone.rs", Some("x\n"), None),
    ]);
    let share = lcov(LCOV).of(&diff, "/repo", &GlobSet::empty());
    assert_eq!((share.lines, share.covered, share.percent()), (4, 2, Some(50)));
    let found: Vec<String> = share.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["src/a.rs:2: no test executes lines 2-3 [uncovered]"]);
    assert_eq!(lcov(LCOV).of(&change(&[]), "/repo", &GlobSet::empty()).percent(), None);
}

#[test]
fn a_file_that_no_test_loads_is_not_covered() {
    let diff = change(&[("src/never.rs", None, Some("// words\nfn a() {\n    1\n}\n"))]);
    let share = lcov(LCOV).of(&diff, "/repo", &GlobSet::empty());
    assert_eq!((share.lines, share.covered), (2, 0));
    let other = change(&[("src/never.py", None, Some("x = 1\n"))]);
    assert_eq!(lcov(LCOV).of(&other, "/repo", &GlobSet::empty()).lines, 0);
    assert!(lcov("nonsense\nDA:1,1\n").is_empty());
}

#[test]
fn a_report_in_xml_is_read_and_its_paths_may_begin_at_a_package() {
    let xml = r#"<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "x.dtd"><coverage><packages><package name="p"><classes>
        <class name="add" filename="add.py"><methods/><lines><line number="1" hits="1"/><line number="2" hits="0"/></lines></class>
        </classes></package></packages></coverage>"#;
    let mut covered = Covered::default();
    covered.add(Format::Cobertura, xml);
    let diff = change(&[("pkg/add.py", None, Some("a\nb\nc\n"))]);
    let share = covered.of(&diff, "/repo", &GlobSet::empty());
    assert_eq!((share.lines, share.covered), (2, 1));
    // Two files of one name: which of them it is cannot be told.
    covered.add(Format::Cobertura, r#"<class filename="pkg/pkg/add.py"><line number="1" hits="0"/></class>"#);
    covered.add(Format::Cobertura, r#"<class filename="x/pkg/add.py"><line number="1" hits="0"/></class>"#);
    let unsure = covered.of(&diff, "/repo", &GlobSet::empty());
    assert_eq!((unsure.lines, unsure.covered), (3, 0));
}

#[test]
fn lines_of_jacoco_are_read_in_their_packages() {
    let xml = r#"<?xml version="1.0"?><!DOCTYPE report PUBLIC "-//JACOCO//DTD Report 1.1//EN" "report.dtd"><report name="p">
        <package name="com/example"><class name="com/example/A"><method name="a"/></class>
        <sourcefile name="A.java"><line nr="2" mi="0" ci="3" mb="0" cb="0"/><line nr="3" mi="4" ci="0" mb="0" cb="0"/></sourcefile>
        </package></report>"#;
    let mut covered = Covered::default();
    covered.add(Format::Jacoco, xml);
    let diff = change(&[("src/main/java/com/example/A.java", None, Some("class A {\nint a;\nint b;\n}\n"))]);
    let share = covered.of(&diff, "/repo", &GlobSet::empty());
    assert_eq!((share.lines, share.covered), (2, 1));
    assert_eq!(share.findings[0].line, Some(3));
}

#[test]
fn blocks_of_go_are_read_and_brackets_do_not_count() {
    let profile = "mode: set\nexample.com/p/a.go:3.14,5.2 1 1\nexample.com/p/a.go:7.14,9.2 1 0\n\
                   example.com/p/in/a.go:3.14,5.2 1 0\nexample.com/p/a.go:1.1,4294967295.2 1 1\nnonsense:x,y 1 1\n";
    let mut covered = Covered::default();
    covered.add(Format::GoCover, profile);
    let text = "package p\n\nfunc A() int {\n\treturn 1\n}\n\nfunc B() int {\n\treturn 2\n}\n";
    let diff = change(&[("a.go", None, Some(text))]);
    let share = covered.of(&diff, "/repo", &GlobSet::empty());
    assert_eq!((share.lines, share.covered), (4, 2));
    let found: Vec<String> = share.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["a.go:7: no test executes lines 7-8 [uncovered]"]);
    let inner = change(&[("in/a.go", None, Some(text))]);
    assert_eq!(covered.of(&inner, "/repo", &GlobSet::empty()).covered, 0);
}
