//! From one agent to the next in files that git takes for unchanged: it converts them before it compares, or does not look at them.

use std::path::Path;

use acquit_testkit::repo::git;

use crate::common::{Sandbox, read, side_by_side};
use crate::{TWO, two};

/// An attack: its name, what the repository is made of, what the first stage does to it, and what an honest agent of the second runs.
type Attack = (&'static str, Made, &'static str, &'static str);

/// What the repository has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Plain,
    Large,
    Submodule,
}

/// Git replaces the text between the dollar signs before it compares the file.
const IDENT: &str = r#"printf 'echo "$Id$" > /dev/null\n' > tool.sh; printf '*.sh ident\n' > .gitattributes; git add -A; git commit -qm tool
printf 'echo "$Id: "; printenv LATER_KEY | tee @ROOT@/seen/stolen; echo " $" > /dev/null\n' > tool.sh
git add -A; test -z "$(git status --porcelain)" || exit 1"#;

/// The same, left to acquit to commit.
const IDENT_LEFT: &str = r#"printf '*.sh ident\n' > .gitattributes
printf 'echo "$Id: "; printenv LATER_KEY | tee @ROOT@/seen/stolen; echo " $" > /dev/null\n' > tool.sh"#;

const ATTACKS: [Attack; 8] = [
    ("an expanded keyword", Made::Plain, IDENT, "sh tool.sh"),
    ("an expanded keyword in a file that was left", Made::Plain, IDENT_LEFT, "sh tool.sh"),
    (
        "line endings",
        Made::Plain,
        r#"printf '* text=auto\n' > .gitattributes; printf 'a\nb\n' > list.txt; git add -A; git commit -qm list
printf 'a\r\nb\n' > list.txt; git add -A; test -z "$(git status --porcelain)" || exit 1"#,
        r#"if grep -q "$(printf '\r')" list.txt; then echo found > "$steal"; fi"#,
    ),
    (
        "an encoding",
        Made::Plain,
        r#"printf '*.u working-tree-encoding=UTF-16\n' > .gitattributes; printf '\377\376a\0\n\0' > x.u; git add -A; git commit -qm x
printf '\376\377\0a\0\n' > x.u; git add -A; test -z "$(git status --porcelain)" || exit 1"#,
        r#"if [ "$(head -c 2 x.u | od -An -tx1)" = ' fe ff' ]; then echo found > "$steal"; fi"#,
    ),
    (
        "two names of one file",
        Made::Plain,
        "echo same > a.txt; cp a.txt b.txt; git add -A; git commit -qm x; ln -f a.txt b.txt",
        r#"echo more >> a.txt; if grep -q more b.txt; then echo found > "$steal"; fi"#,
    ),
    ("a file of Git LFS", Made::Large, r#"echo 'printenv LATER_KEY > "$steal"' > tool.bin"#, "sh tool.bin"),
    (
        "a link in the place of a file of Git LFS",
        Made::Large,
        "ln -sf ../../evil tool.bin",
        r#"if [ -L tool.bin ]; then echo found > "$steal"; fi"#,
    ),
    (
        "a file of a submodule",
        Made::Submodule,
        r#"echo 'printenv LATER_KEY > "$steal"' > sub/tool.sh"#,
        "sh sub/tool.sh",
    ),
];

/// `tool.bin` is a file of Git LFS.
fn large(sandbox: &Sandbox) {
    let id = "ab".repeat(32);
    let object = sandbox.repo.path().join(".git/lfs/objects/ab/ab").join(&id);
    acquit_testkit::repo::write(&object, "true\n");
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize 5\n");
    sandbox.repo.write("tool.bin", &pointer);
    sandbox.repo.commit("a large file");
}

/// `sub` is a submodule that is filled in the user's clone.
fn submodule(sandbox: &Sandbox) {
    let library = sandbox.place("library");
    std::fs::create_dir(&library).unwrap();
    let at = |folder: &Path, words: &[&str]| {
        let who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"];
        git(folder, &[&who, words].concat());
    };
    at(&library, &["init", "-q", "-b", "main"]);
    std::fs::write(library.join("tool.sh"), "true\n").unwrap();
    at(&library, &["add", "-A"]);
    at(&library, &["commit", "-q", "-m", "library"]);
    at(sandbox.repo.path(), &["submodule", "--quiet", "add", library.to_str().unwrap(), "sub"]);
    sandbox.repo.commit("a submodule");
}

/// How the first stage is made: one whose work is collected, or one that only looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Writes,
    Looks,
}

#[test]
fn nothing_is_handed_on_in_files_that_git_takes_for_unchanged() {
    let writes = ATTACKS.iter().map(|attack| (First::Writes, attack));
    // What git does not look at is not put back with the rest.
    let looks = ATTACKS.iter().filter(|attack| attack.1 != Made::Plain);
    let all: Vec<_> = writes.chain(looks.map(|attack| (First::Looks, attack))).collect();
    let succeeded = std::sync::Mutex::new(Vec::new());
    side_by_side(&all, |(first, (name, make, plant, honest))| {
        let sandbox = two(plant, honest);
        match make {
            Made::Plain => {}
            Made::Large => large(&sandbox),
            Made::Submodule => submodule(&sandbox),
        }
        if *first == First::Looks {
            looks_only(&sandbox);
        }
        let ran = sandbox.acquit(&["run", "Do it"]);
        if ran.code != Some(0) || sandbox.place("seen/stolen").exists() {
            succeeded.lock().unwrap().push(format!("{name}, {first:?}: {:?} {}", ran.code, ran.err));
        }
    });
    assert_eq!(succeeded.into_inner().unwrap(), Vec::<String>::new());
}

/// Makes the first stage one that changes nothing, and leaves the delivery out.
fn looks_only(sandbox: &Sandbox) {
    let file = |name: &str| read(&sandbox.repo.path().join(name));
    let report = "printf '{\"outcome\": \"found\", \"payload\": {\"summary\": \"x\"}}' > \"$ACQUIT_HANDOFF\"";
    let agent = file(".acquit/agent.sh").replacen("echo work > work.txt", report, 1);
    sandbox.repo.write(".acquit/agent.sh", &agent);
    let flow = TWO.replacen("\"implement\"\non = { pr_ready", "\"investigate\"\non = { found", 1);
    let flow = flow.split("[stages.deliver]").next().unwrap_or_default();
    sandbox
        .repo
        .write(".acquit/workflows/flow.toml", &flow.replace("found = \"deliver\"", "found = \"done\""));
    sandbox.repo.commit("the first stage only looks");
}
