//! Names that a change adds, and names of the tests that it declares. Reads them from the text with little knowledge of
//! the languages, for two questions only: does an error mention something new, and did every new test run.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::pattern::pattern;

/// Minimum length of a word. Shorter ones are in every message.
const SHORTEST: usize = 2;

/// Returns the words of a text that can be names.
pub fn words(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.split(|c| !is_part(c))
        .filter(|word| word.len() >= SHORTEST && !word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Returns the names that a new text declares and the old one does not have.
pub fn added(old: Option<&str>, new: &str) -> BTreeSet<String> {
    let old = old.unwrap_or_default();
    let known = words(old);
    let mut names: BTreeSet<String> =
        new.lines().flat_map(declared).filter(|word| !known.contains(word)).collect();
    // A new function may have a name that already occurred for something else, such as `iter` of a list.
    let functions =
        |text: &str| -> BTreeSet<String> { text.lines().filter_map(function).map(str::to_owned).collect() };
    names.extend(functions(new).difference(&functions(old)).cloned());
    names.extend(implemented(new).difference(&implemented(old)).cloned());
    names
}

/// Returns the traits that a Rust text implements or derives.
fn implemented(text: &str) -> BTreeSet<String> {
    static TRAIT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^\s*impl(?:<[^>]*>)?\s+(?:\w+::)*(\w+)(?:<.*>)?\s+for\b|^\s*#\[derive\(([^)]*)\)")
    });
    let mut names: BTreeSet<String> = BTreeSet::new();
    for found in text.lines().filter_map(|line| TRAIT.captures(line)) {
        names.extend(found.iter().skip(1).flatten().flat_map(|list| words(list.as_str())));
    }
    // The compiler names the trait that is required.
    if names.contains("IntoIterator") {
        names.insert("Iterator".to_owned());
    }
    names
}

/// Returns the functions that both texts declare in different lines, with other parameters or types.
pub fn reshaped(old: &str, new: &str) -> BTreeSet<String> {
    let lines = |text: &str| -> BTreeSet<(String, String)> {
        let of = |line: &str| Some((function(line)?.to_owned(), line.trim().to_owned()));
        text.lines().filter_map(of).collect()
    };
    let (before, after) = (lines(old), lines(new));
    let names = |all: &BTreeSet<(String, String)>, but: &BTreeSet<(String, String)>| -> BTreeSet<String> {
        all.difference(but).map(|(name, _)| name.clone()).collect()
    };
    names(&before, &after).intersection(&names(&after, &before)).cloned().collect()
}

/// Returns the function that a line declares.
fn function(line: &str) -> Option<&str> {
    static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:fn|def|function|func(?:\s*\([^)]*\))?)\s+(\w+)|^\s*(?:export\s+)?(?:const|let)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\()",
        )
    });
    let found = FUNCTION.captures(line).and_then(|found| found.get(1).or_else(|| found.get(2)));
    let typed = || behind_type(line, &["return", "new", "throw", "else"]).filter(|_| line.contains('('));
    found.map(|name| name.as_str()).or_else(typed)
}

/// Returns a name of `reshaped` that an error about parameters or types mentions, also in quoted source.
pub fn mismatched<'n>(errors: &str, reshaped: &'n BTreeSet<String>) -> Option<&'n str> {
    const SIGNS: [&str; 14] = [
        "argument",
        "mismatched types",
        "parameter",
        "cannot be applied",
        "incompatible types",
        "assignment mismatch",
        "cannot use",
        "not assignable",
        "takes ",
        "trait bound",
        "is required for",
        "missing structure field",
        "too many",
        "not enough",
    ];
    let lower = errors.to_lowercase();
    if !SIGNS.iter().any(|sign| lower.contains(sign)) {
        return None;
    }
    let spoken = words(errors);
    reshaped.iter().find(|name| spoken.contains(*name)).map(String::as_str)
}

/// Returns the names that a line declares, as far as the line alone shows: names after a declaring keyword, at the
/// start of the line before a colon, equals sign, parenthesis or brace, and parameters.
fn declared(line: &str) -> Vec<String> {
    const DECLARING: [&str; 22] = [
        "fn",
        "def",
        "class",
        "struct",
        "enum",
        "trait",
        "type",
        "const",
        "static",
        "function",
        "func",
        "let",
        "var",
        "mod",
        "interface",
        "macro_rules",
        "union",
        "record",
        "module",
        "namespace",
        "object",
        "package",
    ];
    const SAYING: [&str; 20] = [
        "if", "for", "while", "return", "match", "switch", "else", "case", "use", "import", "from", "in",
        "range", "print", "assert", "with", "try", "catch", "await", "new",
    ];
    const MODIFYING: [&str; 15] = [
        "pub",
        "export",
        "public",
        "private",
        "protected",
        "async",
        "default",
        "override",
        "self",
        "this",
        "final",
        "abstract",
        "synchronized",
        "native",
        "readonly",
    ];
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut names = Vec::new();
    let mut before = "";
    let mut rest = line;
    let mut is_first = true;
    let declares = line.split(|c| !is_part(c)).any(|word| DECLARING.contains(&word));
    while let Some(start) = rest.find(is_part) {
        let word = &rest[start..];
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        let next = after.trim_start().chars().next();
        let compares = after.trim_start().starts_with("==");
        let opens = matches!(next, None | Some(':' | '=' | '(' | '{' | ',')) && !compares;
        // A declaring line also has parameters. Methods follow their receiver.
        let is_declared = DECLARING.contains(&before) || (is_first || declares) && opens;
        if is_declared && !SAYING.contains(&word) && !DECLARING.contains(&word) {
            names.extend(words(word));
        }
        // Modifiers don't count as the start of a line.
        is_first &= MODIFYING.contains(&word);
        (before, rest) = (word, after);
    }
    names.extend(behind_type(line, &SAYING).map(str::to_owned));
    names
}

/// Returns the name in `public static List<A> name(…`, `private int name = 1;` and in a Go field `Name string`: after
/// its type, or before it with nothing else on the line.
fn behind_type<'l>(line: &'l str, saying: &[&str]) -> Option<&'l str> {
    static TYPED: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^\s*(?:@\w+\s+)*(?:(\w+)\s+)*?(\w+)(?:<[^(){};=]*>|\[\])*\s+(\w+)\s*(?:\([^;]*[{,(]?\s*(?:throws [\w., ]+)?\{?|\(.*\)\s*;|=[^=].*;|;)\s*$",
        )
    });
    static FIELD: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*([A-Za-z_]\w*)\s+[\w.*\[\]{}]+(?:\s+`[^`]*`)?\s*(?://.*)?$"));
    let first = line.split_whitespace().next().unwrap_or_default();
    if saying.contains(&first) {
        return None;
    }
    let typed = TYPED.captures(line).and_then(|found| found.get(3));
    typed.or_else(|| FIELD.captures(line).and_then(|found| found.get(1))).map(|name| name.as_str())
}

/// Returns a name of `added` that an error mentions in the lines that describe the problem, not in quoted source.
pub fn named<'n>(errors: &str, added: &'n BTreeSet<String>) -> Option<&'n str> {
    const SIGNS: [&str; 20] = [
        "error",
        "undefined",
        "undeclared",
        "cannot find",
        "can't find",
        "not find",
        "unresolved",
        "no method",
        "no field",
        "no function",
        "has no",
        "is not",
        "not defined",
        "does not",
        "doesn't",
        "no module",
        "cannot import",
        "symbol:",
        "missing",
        "unknown",
    ];
    let quotes_source = |line: &str| {
        let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        line.starts_with('|') || line.starts_with('>') || line.starts_with("-->")
    };
    let says = |line: &&str| {
        let lower = line.to_lowercase();
        !quotes_source(line) && SIGNS.iter().any(|sign| lower.contains(sign))
    };
    let spoken: BTreeSet<String> = errors.lines().filter(says).flat_map(words).collect();
    added.iter().find(|name| spoken.contains(*name)).map(String::as_str)
}

/// Returns the names of the tests that a file declares.
pub fn tests(path: &str, text: &str) -> BTreeSet<String> {
    let extension = path.rsplit('.').next().unwrap_or_default();
    match extension {
        "rs" => attributed(text, &["#[test]", "::test]", "::test(", "#[rstest", "#[test_case"], "fn "),
        "java" | "kt" => attributed(text, &["@Test", "@ParameterizedTest"], "void "),
        "py" => after(text, &["def test", "async def test"]).map(|name| format!("test{name}")).collect(),
        "go" => after(text, &["func Test"])
            .filter(|rest| !rest.starts_with(char::is_lowercase))
            .map(|name| format!("Test{name}"))
            .filter(|name| name != "TestMain")
            .collect(),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            text.lines().filter_map(javascript).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Returns the name after `keyword` on the line of a mark or on one of the next lines.
fn attributed(text: &str, marks: &[&str], keyword: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut marked = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("//") {
            continue;
        }
        let mark = marks.iter().find_map(|mark| line.find(mark).map(|at| at + mark.len()));
        marked |= mark.is_some() && (line.starts_with("#[") || line.starts_with('@'));
        let rest = &line[mark.unwrap_or(0)..];
        if let Some((_, after)) = rest.split_once(keyword).filter(|_| marked) {
            let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.insert(name);
            marked = false;
        }
    }
    names.remove("");
    names
}

/// Returns the text after one of these line starts, up to the parenthesis.
fn after<'t>(text: &'t str, begins: &'t [&str]) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        let rest = begins.iter().find_map(|begin| line.strip_prefix(begin))?;
        let (name, _) = rest.split_once('(')?;
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(name)
    })
}

/// Parses `it("name", …)`, `test.only('name', …)`. Names that are computed at run time are unknown.
fn javascript(line: &str) -> Option<String> {
    let line = line.trim_start();
    let rest = line.strip_prefix("it").or_else(|| line.strip_prefix("test"))?;
    let (modifiers, rest) = rest.split_once('(')?;
    let modifies = |c: char| c == '.' || c.is_alphabetic();
    let is_chain = modifiers.starts_with('.') && modifiers.chars().all(modifies);
    if !(modifiers.is_empty() || is_chain) {
        return None;
    }
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|c| ['"', '\'', '`'].contains(c))?;
    let (name, _) = rest[1..].split_once(quote)?;
    (!name.is_empty() && !name.contains(['$', '%', '\\'])).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{added, mismatched, named, reshaped, tests};

    fn list(path: &str, text: &str) -> Vec<String> {
        tests(path, text).into_iter().collect()
    }

    #[test]
    fn declared_tests_are_found_in_each_language() {
        let rust = "#[test]\nfn a() {}\n#[tokio::test(flavor)]\n#[ignore]\nasync fn b() {}\n#[test] fn c() {}\nfn helper() {}\n// #[test]\n";
        assert_eq!(list("a.rs", rust), ["a", "b", "c"]);
        assert_eq!(
            list("t.py", "def test_a():\n  pass\n    async def test_b(self):\ndef helper(): pass\n"),
            ["test_a", "test_b"]
        );
        assert_eq!(
            list("a_test.go", "func TestA(t *testing.T) {\nfunc Testing() {\nfunc TestMain(m) {\n"),
            ["TestA"]
        );
        let js = "test('a', () => {});\n  it.skip(\"b c\", x);\nit.each([1])('n %i', f);\ntest(`x ${y}`, f)\nitem('no')\n";
        assert_eq!(list("a.test.ts", js), ["a", "b c"]);
        assert_eq!(
            list("ATest.java", "@Test\npublic void adds() {\n@Test void subs() {\nvoid no() {\n"),
            ["adds", "subs"]
        );
    }

    #[test]
    fn names_are_those_that_are_declared() {
        let new = "pub fn one(two: u8) {\nfunc (r *Thing) Three(four int) {\nexport const five = 6;\n  seven: String,\n    Eight,\n\
                   def nine(ten=1):\n  self.eleven = other(twelve)\nreturn thirteen(x)\nif fourteen == 1 {\npublic fifteen(";
        let names: Vec<String> = added(None, new).into_iter().collect();
        let expected = ["Eight", "Three", "eleven", "fifteen", "five", "nine", "one", "seven", "ten", "two"];
        assert_eq!(names, expected);
        let java = "    public static List<String> one(int a) {\n    private int two = 3;\n    int three() throws A {\n\
                    \tFour string `json:\"f\"`\n\t\treturn five;\n  five(six);\n";
        let names = added(None, java);
        for name in ["one", "two", "three", "Four"] {
            assert!(names.contains(name), "{name} {names:?}");
        }
        assert!(!names.contains("six"), "{names:?}");
    }

    #[test]
    fn a_new_function_or_trait_counts_though_its_name_was_used_before() {
        let old = "struct Tally(Vec<u8>);\nimpl Tally {\n    fn sum(&self) -> u8 {\n        self.0.iter().sum()\n    }\n}\n";
        let new = format!("{old}impl Tally {{\n    pub fn iter(&self) -> Iter {{\n");
        let error = "error[E0599]: no method named `iter` found for struct `Tally` in the current scope";
        assert_eq!(named(error, &added(Some(old), &new)), Some("iter"));
        assert_eq!(named(error, &added(Some(old), &format!("{old}// iter\n"))), None);
        let by_trait = format!("{old}impl IntoIterator for &Tally {{\n");
        let error = "error[E0277]: `&Tally` is not an iterator\n  = help: the trait `Iterator` is not implemented for `&Tally`";
        assert_eq!(named(error, &added(Some(old), &by_trait)), Some("Iterator"));
        assert_eq!(named(error, &added(Some(&by_trait), &by_trait)), None);
    }

    #[test]
    fn a_changed_signature_explains_an_error_about_arguments_only() {
        let old = "pub fn total(values: &[i64; 2]) -> i64 {\nfn other(x: u8) {\n";
        let names = reshaped(old, "pub fn total(values: &[i64]) -> i64 {\nfn other(x: u8) {\nfn more() {\n");
        assert_eq!(names, ["total".to_owned()].into());
        let rust = "error[E0308]: mismatched types\n  --> tests/a.rs:3:1\nnote: function defined here\n1 | pub fn total(values: &[i64; 2])";
        assert_eq!(mismatched(rust, &names), Some("total"));
        assert_eq!(mismatched("too many arguments in call to total\n\thave (number)", &names), Some("total"));
        assert_eq!(mismatched("error: expected `;`, found total", &names), None);
        assert_eq!(mismatched("too many arguments in call to other", &names), None);
    }

    #[test]
    fn an_error_speaks_of_what_is_new_only_in_its_own_words() {
        let names =
            added(Some("fn old() {}"), "fn old() {}\nfn double(x: u8) {}\nfor _, value := range list {\n");
        assert!(!names.contains("range") && !names.contains("list"), "{names:?}");
        assert_eq!(
            named("error[E0425]: cannot find function `double` in this scope", &names),
            Some("double")
        );
        assert_eq!(named("ImportError: cannot import name 'double' from 'lib'", &names), Some("double"));
        let unrelated =
            "error: expected `;`\n 5 |     let error = double(2);\n  --> src/error/double.rs:5:1\n";
        assert_eq!(named(unrelated, &names), None);
    }
}
