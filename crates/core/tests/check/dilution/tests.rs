//! The same deeds in every language: an assertion removed, a skip added, a test deleted; and the honest ones beside them.

use super::{breaks, honest, look};

struct Sample {
    path: &'static str,
    /// With `HEAD` where a skip could stand above the second test, `IN` where one could stand in it, and three assertions in it.
    text: &'static str,
    skips: &'static [(&'static str, &'static str)],
    assertion: &'static str,
    tautology: &'static str,
    comment: &'static str,
    second: &'static str,
}

const SAMPLES: [Sample; 5] = [
    Sample {
        path: "src/lib.rs",
        text: "pub fn add(a: i32) -> i32 { a }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn first() {\n        assert!(add(1) == 1);\n    }\n\n    #[test]\nHEAD    fn second() {\nIN        let text = \"#[test] fn x() { assert!(1) } }\";\n        assert_eq!(add(2), 2);\n        assert_eq!(add(3), 3, \"{text}\");\n        assert_ne!(add(4), 5);\n    }\n}\n",
        skips: &[
            ("    #[ignore]\n", ""),
            ("    #[ignore = \"slow\"]\n", ""),
            ("    #[cfg(any())]\n", ""),
            ("", "        return;\n"),
        ],
        assertion: "        assert_ne!(add(4), 5);\n",
        tautology: "        assert!(true);\n",
        comment: "        // assert_ne!(add(4), 5);\n",
        second: "second",
    },
    Sample {
        path: "src/add.test.ts",
        text: "import { add } from './add';\ndescribe('add', () => {\n  it('first', () => {\n    expect(add(1)).toBe(1);\n  });\n\n  IT('second', () => {\nIN    const text = `it('x', ${add(1)} () => { expect(1)`;\n    expect(add(2)).toBe(2);\n    expect(add(3), text).toBe(/\\/it(/.test('x') ? 3 : 4);\n    expect(add(4)).not.toBe(5);\n  });\n});\n",
        skips: &[
            ("it.skip", ""),
            ("xit", ""),
            ("it.todo", ""),
            ("it.failing", ""),
            ("it.concurrent.skip", ""),
            ("it", "    return;\n"),
        ],
        assertion: "    expect(add(4)).not.toBe(5);\n",
        tautology: "    expect(true).toBe(true);\n",
        comment: "    /* expect(add(4)).not.toBe(5); */\n",
        second: "second",
    },
    Sample {
        path: "tests/test_add.py",
        text: "from add import add\n\n\ndef test_first():\n    assert add(1) == 1\n\n\nHEADdef test_second():\nIN    text = \"\"\"\ndef test_third():\n    assert False\n\"\"\"\n    assert add(2) == 2\n    assert add(3) == 3, (text,\n'x')\n    assert add(4) != 5\n\n\ndef helper():\n    return 1\n",
        skips: &[
            ("@pytest.mark.skip\n", ""),
            ("@pytest.mark.skip(\n    reason=\"slow\",\n)\n", ""),
            ("@pytest.mark.xfail(strict=False)\n", ""),
            ("@unittest.skipIf(True, 'x')\n", ""),
            ("", "    pytest.skip('later')\n"),
            ("", "    return\n"),
        ],
        assertion: "    assert add(4) != 5\n",
        tautology: "    assert True\n",
        comment: "    # assert add(4) != 5\n",
        second: "test_second",
    },
    Sample {
        path: "add_test.go",
        text: "package add\n\nimport \"testing\"\n\nfunc TestFirst(t *testing.T) {\n\tif Add(1) != 1 {\n\t\tt.Fatal(\"one\")\n\t}\n}\n\nfunc TestSecond(t *testing.T) {\nIN\ttext := `func TestThird(t *testing.T) { t.Fatal() }`\n\tif Add(2) != 2 {\n\t\tt.Errorf(\"two %s\", text)\n\t}\n\trequire.Equal(t, Add(3), 3)\n\tassert.NotEqual(t, Add(4), 5)\n}\n",
        skips: &[("", "\tt.Skip(\"later\")\n"), ("", "\tt.SkipNow()\n"), ("", "\treturn\n")],
        assertion: "\tassert.NotEqual(t, Add(4), 5)\n",
        tautology: "\tassert.True(true)\n",
        comment: "\t// assert.NotEqual(t, Add(4), 5)\n",
        second: "TestSecond",
    },
    Sample {
        path: "src/test/java/AddTest.java",
        text: "class AddTest {\n    @Test\n    void first() {\n        assertEquals(1, Add.add(1));\n    }\n\n    @Test\nHEAD    public void second() throws Exception {\nIN        String text = \"@Test void third() { fail(); }\";\n        assertEquals(2, Add.add(2));\n        assertEquals(3, Add.add(3), text);\n        assertNotEquals(5, Add.add(4));\n    }\n}\n",
        skips: &[
            ("    @Disabled\n", ""),
            ("    @Ignore(\"slow\")\n", ""),
            ("", "        assumeTrue(false);\n"),
            ("", "        return;\n"),
        ],
        assertion: "        assertNotEquals(5, Add.add(4));\n",
        tautology: "        assertTrue(true);\n",
        comment: "        // assertNotEquals(5, Add.add(4));\n",
        second: "second",
    },
];

impl Sample {
    fn with(&self, head: &str, inside: &str) -> String {
        let called = if head.is_empty() { "it" } else { head };
        self.text.replace("IN", inside).replace("HEAD", head).replace("IT(", &format!("{called}("))
    }

    fn plain(&self) -> String {
        self.with("", "")
    }

    fn line_of(&self, text: &str, what: &str) -> u32 {
        let at = text.find(what).unwrap_or_else(|| panic!("{what} in {}", self.path));
        u32::try_from(text[..at].matches('\n').count()).unwrap() + 1
    }
}

#[test]
fn a_removed_assertion_is_seen_however_it_is_removed() {
    for sample in SAMPLES {
        let before = sample.plain();
        let line = sample.line_of(&before, sample.second);
        for instead in ["", sample.tautology, sample.comment] {
            let after = before.replace(sample.assertion, instead);
            breaks(sample.path, &before, &after, "assertions-removed", line);
        }
    }
}

#[test]
fn a_skip_is_seen_in_all_its_forms() {
    for sample in SAMPLES {
        let before = sample.plain();
        for (head, inside) in sample.skips {
            let after = sample.with(head, inside);
            let mark = if inside.is_empty() { head } else { inside };
            let line = sample.line_of(&after, mark.trim_end());
            breaks(sample.path, &before, &after, "test-skipped", line);
            // It was skipped before, and is not this change's doing; taking a skip away is welcome.
            honest(sample.path, &after, &after.replace('1', "9"));
            honest(sample.path, &after, &before);
        }
    }
}

#[test]
fn a_test_that_is_gone_is_named() {
    for sample in SAMPLES {
        let before = sample.plain();
        let found = look(&[(sample.path, Some(&before), None)]);
        assert_eq!(found.len(), 2, "{}: {found:?}", sample.path);
        assert!(found.iter().all(|finding| finding.rule == "test-removed"), "{found:?}");
        assert!(found[1].what.contains(&format!("`{}`", sample.second)), "{found:?}");
    }
}

#[test]
fn honest_changes_of_tests_are_left_alone() {
    for sample in SAMPLES {
        let before = sample.plain();
        let more = before.replace(sample.assertion, &sample.assertion.repeat(2));
        honest(sample.path, &before, &more);
        let other_value = before.replace('3', "7");
        honest(sample.path, &before, &other_value);
        let other_name = before.replace(sample.second, &format!("{}_renamed", sample.second));
        honest(sample.path, &before, &other_name);
        let commented = before.replace(sample.assertion, &format!("{}{}", sample.comment, sample.assertion));
        honest(sample.path, &before, &commented);
    }
}

#[test]
fn suites_that_do_not_run_are_seen() {
    let script = "describe('a', () => {\n  it('x', () => { expect(f()).toBe(1); });\n});\n";
    for (from, to) in [
        ("describe(", "describe.skip("),
        ("describe(", "xdescribe("),
        ("it(", "it.only("),
        ("describe(", "describe.only("),
        ("it(", "fit("),
    ] {
        let after = script.replace(from, to);
        let found = look(&[("a.test.js", Some(script), Some(&after))]);
        assert!(found.iter().any(|finding| finding.rule == "test-skipped"), "{to}: {found:?}");
    }
    let python = "class TestA:\n    def test_x(self):\n        assert f()\n";
    for mark in
        ["@pytest.mark.skip\n", "pytestmark = pytest.mark.skip(reason='x')\n", "collect_ignore = ['a.py']\n"]
    {
        let after = format!("{mark}{python}");
        breaks("test_a.py", python, &after, "test-skipped", 1);
    }
    let java = "class AddTest {\n    @Test\n    void a() { assertTrue(f()); }\n}\n";
    breaks("AddTest.java", java, &format!("@Disabled\n{java}"), "test-skipped", 1);
    let go = "package a\n\nfunc TestA(t *testing.T) { t.Fatal() }\n";
    breaks("a_test.go", go, &format!("//go:build ignore\n\n{go}"), "test-skipped", 1);
    breaks("tests/all/main.rs", "mod a;\nmod b;\n", "mod a;\n", "test-hidden", 2);
}

#[test]
fn tests_made_of_tables_keep_their_names() {
    let each = "test.each([\n  [1, 2],\n])('adds %i', (a, b) => {\n  expect(add(a)).toBe(b);\n});\n";
    breaks("a.test.js", each, &each.replace("  expect(add(a)).toBe(b);\n", ""), "assertions-removed", 1);
    let template =
        "it.each`\na | b\n${1} | ${2}\n`('adds $a', ({ a, b }) => {\n  expect(add(a)).toBe(b);\n});\n";
    honest("a.test.js", template, &template.replace("${1}", "${3}"));
    assert_eq!(look(&[("a.test.js", Some(template), None)]).len(), 1);
    let property =
        "proptest! {\n    #[test]\n    fn holds(a in 0..9) {\n        prop_assert!(a < 9);\n    }\n}\n";
    breaks(
        "src/a.rs",
        property,
        &property.replace("        prop_assert!(a < 9);\n", ""),
        "assertions-removed",
        3,
    );
}
