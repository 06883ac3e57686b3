//! Inverted assertions: what is inverted, and the conclusions from the run.

use super::*;
use crate::results::{Case as Ended, Outcome};

fn copied(path: &str, new: &str) -> String {
    let file = TestFile { path: path.to_owned(), old: String::new(), new: new.to_owned() };
    plan(&[file])
        .map(|plan| plan.files[0].1[new.len().min(plan.files[0].1.len())..].to_owned())
        .unwrap_or_default()
}

#[test]
fn assertions_are_turned_around_in_every_language() {
    let table = [
        (
            "test_a.py",
            "def test_a():\n    assert f(1, 2) == 3, \"sum\"\n",
            "assert not (f(1, 2) == 3), \"sum\"",
        ),
        (
            "test_a.py",
            "def test_a():\n    assert f(\n        1,\n    ) == [3]\n",
            "assert not (f(\n        1,\n    ) == [3])",
        ),
        (
            "test_a.py",
            "class T(TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 3)\n",
            "self.assertNotEqual(f(1), 3)",
        ),
        ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(f(1), 3);\n}\n", "assert_ne!(f(1), 3)"),
        (
            "tests/a.rs",
            "#[test]\nfn a() {\n    assert!(f(1) > 3, \"no\");\n}\n",
            "assert!(!(f(1) > 3), \"no\")",
        ),
        ("a.test.js", "test('adds', () => {\n  expect(f(1)).toBe(3);\n});\n", "expect(f(1)).not.toBe(3)"),
        ("a.test.js", "test('adds', () => {\n  expect(f(1)).not.toBe(3);\n});\n", "expect(f(1)).toBe(3)"),
        ("a.test.js", "test('adds', () => {\n  assert.equal(f(1), 3);\n});\n", "assert.notEqual(f(1), 3)"),
        ("a.test.js", "test('adds', () => {\n  assert.ok(f(1));\n});\n", "assert.ok(!(f(1)))"),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tif got := F(1); got != 3 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
            "if got := F(1); !(got != 3) {",
        ),
        (
            "ATest.java",
            "import org.junit.jupiter.api.Test;\nclass ATest {\n    @Test\n    void adds() {\n        assertEquals(3, A.f(1));\n    }\n}\n",
            "org.junit.jupiter.api.Assertions.assertNotEquals(3, A.f(1))",
        ),
    ];
    for (path, test, turned) in table {
        let file = TestFile { path: path.to_owned(), old: String::new(), new: test.to_owned() };
        let plan = plan(&[file]).unwrap_or_else(|| panic!("nothing to turn around in {test}"));
        assert!(plan.files[0].1.contains(turned), "{}", plan.files[0].1);
        assert!(plan.files[0].1.contains("iv0q"), "{}", plan.files[0].1);
    }
    assert_eq!(copied("test_a.py", "def test_a():\n    f(1)\n"), "");
    assert_eq!(copied("tests/a.rs", "#[test]\n#[should_panic]\nfn a() {\n    assert!(f(1));\n}\n"), "");
}

#[test]
fn a_test_that_did_not_change_is_not_tried() {
    let old = "def test_a():\n    assert f(1) == 3\n";
    let new = format!("{old}\n\ndef test_b():\n    assert f(2) == 4\n");
    let file = TestFile { path: "test_a.py".to_owned(), old: old.to_owned(), new };
    let plan = plan(&[file]).unwrap();
    assert_eq!(plan.copies.len(), 1);
    assert_eq!((plan.copies[0].name.as_str(), plan.copies[0].line), ("test_b", 6));
}

#[test]
fn a_test_that_passes_either_way_is_dead() {
    let file = TestFile {
        path: "test_a.py".to_owned(),
        old: String::new(),
        new: "def test_a():\n    try:\n        assert f(1) == 3\n    except Exception:\n        pass\n"
            .to_owned(),
    };
    let plan = plan(&[file]).unwrap();
    let ended = |outcome: Outcome| {
        let mut merged = Merged { runs: 1, ..Merged::default() };
        let id = TestId { suite: "test_a".to_owned(), name: "test_a_iv0q".to_owned() };
        merged.results.tests.insert(id, Ended::plain(outcome, ""));
        dead(&plan, &merged).len()
    };
    assert_eq!((ended(Outcome::Passed), ended(Outcome::Failed), ended(Outcome::Error)), (1, 0, 0));
    assert_eq!(dead(&plan, &Merged::default()).len(), 0);
}
