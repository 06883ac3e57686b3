//! Gates see exactly the files of the commit, whatever the agent left in the tree that they are taken from.

use crate::common::{read, side_by_side};
use crate::world;

/// The tree is that of the commit: no other file, content or mode. An index of its own, made from nothing, tells.
const EXACT: &str = r#"
export GIT_INDEX_FILE=.git/made-from-nothing
git -c core.autocrlf=false add --all --force . || exit 1
test "$(git write-tree)" = "$(git rev-parse 'HEAD^{tree}')" || { git diff --cached --stat HEAD; exit 1; }
unset GIT_INDEX_FILE
test -z "$(git status --porcelain)" || exit 1
"#;

/// An attack: its name, what the agent does in its first leg and in its second, and what the gate must find then.
type Attack = (&'static str, &'static str, &'static str, &'static str);

/// Every file has one line of eight characters, so that a change can keep the size.
const ATTACKS: [Attack; 23] = [
    (
        "a change that keeps size and times",
        "touch -r a old.local; printf 'changed\\n' > a; touch -r old.local a",
        "touch -r b old.local; printf 'changed\\n' > b; touch -r old.local b",
        "test $(cat a b | sort -u) = changed",
    ),
    (
        "two files that change places, with their times",
        "printf 'other--\\n' > a; mv a x; mv b a; mv x b",
        "mv a x; mv b a; mv x b",
        "test $(cat a) = other-- && test $(cat b) = content",
    ),
    (
        "a file that another one with the same content and times replaces",
        "cp -p a x; mv x a; chmod +x b",
        "cp -p b x; mv x b; printf 'changed\\n' >> b",
        "test -x b && test $(tail -n 1 b) = changed && test ! -x a",
    ),
    ("only a mode", "chmod 755 a", "chmod 644 a; chmod 700 b", "test ! -x a && test -x b"),
    (
        "modes that keep everybody out",
        "printf 'changed\\n' > a; chmod 000 a d",
        "chmod 000 b d/inner",
        "test $(cat a) = changed && test $(cat d/inner) = content",
    ),
    (
        "a file that git is told to take for unchanged",
        "git update-index --assume-unchanged a; printf 'changed\\n' > a",
        "git update-index --skip-worktree b; printf 'changed\\n' > b",
        "test $(cat a b | sort -u) = changed",
    ),
    (
        "a commit, and something else in the tree that is taken for unchanged",
        "printf 'changed\\n' > a; git commit -qam 'T-1: x'; git update-index --assume-unchanged a; printf 'another\\n' > a",
        "printf 'changed\\n' > b; git commit -qam 'T-1: x'; git update-index --skip-worktree b; printf 'another\\n' > b",
        "test $(cat a b | sort -u) = another",
    ),
    (
        "a file that becomes a link to an ignored one",
        "mv a a.local; ln -s a.local a",
        "rm a; mv b b.local; ln -s b.local b; echo content > a",
        "test -L b && test ! -e b && test $(cat a) = content",
    ),
    (
        "a folder that becomes a link to another with the same files",
        "cp -r d copy.local; rm -r d; ln -s copy.local d",
        "echo x > second",
        "test -L d && test ! -e d/inner",
    ),
    (
        "a folder that becomes a link and a folder again",
        "rm -r d; ln -s / d",
        "rm d; mkdir d; echo content > d/inner; echo x > d/new",
        "test ! -L d && test -f d/new && test $(ls d | wc -l) = 2",
    ),
    (
        "a link out of the tree, and one to a device",
        "ln -s /etc/passwd out; ln -s /dev/zero zero; printf 'changed\\n' > a",
        "ln -sf /proc/self/environ out",
        "test $(readlink out) = /proc/self/environ && test $(readlink zero) = /dev/zero",
    ),
    (
        "a file that becomes a folder, and a folder that becomes a file",
        "rm a; mkdir -p a/b/c; echo x > a/b/c/d; rm -r d; echo x > d",
        "rm -r a; echo x > a; rm d; mkdir d; echo content > d/inner",
        "test -f a && test -f d/inner",
    ),
    (
        "folders that are left empty",
        "mkdir -p e/f/g; echo x > e/f/g/h; echo x > e/i",
        "rm e/f/g/h",
        "test -f e/i && test ! -e e/f",
    ),
    (
        "names of all kinds",
        "echo x > ' -n'; echo x > -rf; echo x > 'a\\b'; echo x > \"$(printf 'new\\nline')\"; echo x > \"$(printf 'b\\377d')\"; \
         mkdir 'd d'; echo x > 'd d/é'; mkdir -p $(printf 'l%.0s' $(seq 200)); echo x > $(printf 'l%.0s' $(seq 200))/$(printf 'm%.0s' $(seq 200))",
        "rm -- -rf; printf 'changed\\n' > 'a\\b'",
        "test ! -e ./-rf && test $(cat 'a\\b') = changed && test -e 'd d/é'",
    ),
    (
        "two names of one file",
        "ln a x; printf 'changed\\n' > x",
        "ln b y; printf 'changed\\n' > b",
        "test $(cat a b x y | sort -u) = changed && test $(stat -c %h a) = 1",
    ),
    (
        "line endings that are converted",
        "printf 'a text eol=crlf\\nb text eol=crlf\\n' > .gitattributes; printf 'one\\ntwo\\n' > a",
        "printf 'three\\n' > b",
        "test $(wc -c < a) = 10 && test $(wc -c < b) = 7",
    ),
    (
        "a word that git replaces",
        "printf 'a ident\\n' > .gitattributes; printf '$Id: any$\\n' > a",
        "printf 'changed\\n' > b",
        "test $(wc -c < a) = 48",
    ),
    (
        "attributes that the agent's repository alone has",
        "printf '* ident eol=crlf text\\n' > .git/info/attributes; git config core.autocrlf true; printf 'changed\\n' > a",
        "git config core.fileMode false; git config core.symlinks false; chmod +x b; ln -s a link",
        "test $(wc -c < a) = 8 && test -x b && test -L link",
    ),
    (
        "a filter by which the agent's git shows another content",
        "git config filter.x.clean 'echo clean'; git config filter.x.smudge 'echo dirty'; echo '* filter=x' > .git/info/attributes; \
         printf 'changed\\n' > a",
        "echo '* filter=x' > .gitattributes; printf 'changed\\n' > b",
        "test $(cat a b | sort -u) = changed",
    ),
    (
        "a commit that the agent's repository shows in place of another",
        "printf 'changed\\n' > a; git commit -qam 'T-1: x'; printf 'another\\n' > b",
        "printf 'changed\\n' > b; git commit -qam 'T-1: y'; git tag -f v1 HEAD~1; git update-ref refs/original/x HEAD~1",
        "test $(cat a b | sort -u) = changed",
    ),
    (
        "times before 1970 and after 2106",
        "printf 'changed\\n' > a; touch -d '1901-12-14' a; touch -d '2200-01-01' b",
        "printf 'changed\\n' > b; touch -d '2200-01-01' b d/inner",
        "test $(cat a b | sort -u) = changed",
    ),
    (
        "files in place of those of the harness",
        "mkdir -p checked/work git; echo x > checked/at; echo x > index.touched; echo x > git/index; printf 'changed\\n' > a",
        "rm -r checked; echo y > git/index",
        "test $(cat git/index) = y && test ! -e checked",
    ),
    (
        "a large file, and many small ones",
        "head -c 20000000 /dev/zero > large; mkdir m; for i in $(seq 500); do echo $i > m/$i; done",
        "rm m/1??; printf 'changed\\n' >> large",
        "test $(wc -c < large) = 20000008 && test $(ls m | wc -l) = 400",
    ),
];

#[test]
fn gates_see_the_files_of_the_commit_whatever_the_tree_of_the_agent_has() {
    const CONFIG: &str =
        "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";
    const WORKFLOW: &str = "[budgets]\ntest = 1\nharness = 0\nguardrail = 0\n[gates.exact]\nrun = \"sh .acquit/exact.sh && echo exact >> '@ROOT@/seen/gate'\"\n\
        [gates.second]\nrun = \"test -e .second && sh .acquit/found.sh\"\nkind = \"test\"\n\
        [stages.code]\nmode = \"implement\"\ngates = [\"exact\", \"second\"]\non = { pr_ready = \"done\" }\n";
    side_by_side(&ATTACKS, |(name, first, second, found)| {
        let agent = format!(
            "if [ -e .first ]; then\n{second}\necho x > .second\nelse\n{first}\necho x > .first\nfi\n"
        );
        let files = [
            ("a", "content\n"),
            ("b", "content\n"),
            ("d/inner", "content\n"),
            (".gitignore", "*.local\n"),
            (".acquit/exact.sh", EXACT),
            (".acquit/found.sh", found),
        ];
        let sandbox = world(CONFIG, WORKFLOW, &agent, &files);
        let said = sandbox.acquit(&["run", "Do it"]);
        assert_eq!(said.code, Some(0), "{name}: {said}");
        assert_eq!(read(&sandbox.place("seen/gate")), "exact\nexact\n", "{name}: {said}");
    });
}
