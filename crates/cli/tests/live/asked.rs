//! Mistakes of the configuration that only a person can correct: how long until the person is asked, and in which words.
//!
//! The table in `docs/agents.md` is made here: with `UPDATE_TABLES=1` the rows of the agents under test are written again.

use std::path::Path;
use std::time::{Duration, Instant};

use acquit_core::human_request::Ask;
use acquit_core::leg::Ending;
use acquit_core::task::State;
use acquit_testkit::model::{Scripts, Step};

use crate::common::CODE;
use crate::kit::{Agent, KEY, Lacks, Live, More, PATIENCE};

/// A mistake, as a user makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    NotInstalled,
    NotLoggedIn,
    WrongKey,
    WrongModel,
    WrongHost,
    CustomUrl,
}

pub(crate) const ALL: &[(Mistake, &str)] = &[
    (Mistake::NotInstalled, "not installed"),
    (Mistake::NotLoggedIn, "not logged in"),
    (Mistake::WrongKey, "wrong key"),
    (Mistake::WrongModel, "wrong model"),
    (Mistake::WrongHost, "wrong host"),
    (Mistake::CustomUrl, "custom base URL, not listed"),
];

/// The one that costs most to find out.
pub(crate) const WRONG_KEY: &[(Mistake, &str)] = &[(Mistake::WrongKey, "wrong key")];

impl Mistake {
    fn lacks(self) -> Lacks {
        match self {
            Self::NotInstalled => Lacks::Program,
            Self::NotLoggedIn => Lacks::Key,
            Self::WrongKey | Self::WrongModel => Lacks::Nothing,
            Self::WrongHost => Lacks::Address,
            Self::CustomUrl => Lacks::Host,
        }
    }

    /// What the model's server answers.
    fn answer(self) -> Step {
        match self {
            Self::WrongModel => Step::status(404),
            _ => Step::status(401),
        }
    }

    /// What the question must have in it.
    fn words(self, port: u16) -> Vec<String> {
        match self {
            Self::NotInstalled => vec!["is not installed".into(), "install it".into()],
            Self::NotLoggedIn => vec!["not logged in".into()],
            Self::WrongKey => vec!["not logged in".into(), "correct its key".into()],
            Self::WrongModel => vec!["cannot use its model".into(), "set `model` of [agents.bot]".into()],
            Self::WrongHost => {
                vec!["[agents.bot]".into(), format!("hosts = [\"127.0.0.1:{port}\", \"model.example:8080\"]")]
            }
            Self::CustomUrl => {
                vec!["[agents.bot]".into(), format!("hosts = [\"api.example.com\", \"127.0.0.1:{port}\"]")]
            }
        }
    }
}

/// How long it may take until a person is asked about a wrong key, on a machine that does nothing else.
const WRONG_KEY_LIMIT: Duration = Duration::from_secs(10);

/// Makes each of them, one after another, so that the times mean something. With `ACQUIT_TEST_IDLE`, a wrong key must be asked about
/// within its limit: with `UPDATE_TABLES=1 ACQUIT_TEST_IDLE=1`, `cargo nextest run -p acquit --test live --ignore-default-filter -j1
/// asks_at_once` measures all rows, in minutes.
pub(crate) fn at_once(agent: Agent, mistakes: &[(Mistake, &'static str)]) {
    let mut rows = Vec::new();
    for &(mistake, called) in mistakes {
        let scripts = Scripts::default().with("mistake", [mistake.answer()]);
        let more = More { lacks: mistake.lacks(), ..More::default() };
        let Some(live) = Live::new(agent, CODE, scripts, more) else { return };
        let begun = Instant::now();
        let ran = live.start("Say hello. [[mistake]]").wait_within(PATIENCE);
        let took = begun.elapsed();
        if mistake == Mistake::NotInstalled {
            // Known before anything is started, so there is no task.
            let ran = ran.must(2);
            mistake.words(live.model.port()).iter().for_each(|words| ran.said(words));
            let words = ran.err.trim_start_matches("error: ").split("\n\nhint").next().unwrap_or_default();
            rows.push((called, took, words.to_owned()));
            continue;
        }
        ran.must(3);
        let task = live.sandbox.task();
        let State::Waiting { request } = &task.state else { panic!("{mistake:?}: {:?}", task.state) };
        assert!(matches!(request.ask, Ask::Stuck), "{mistake:?}: {request:?}");
        assert_eq!((task.past.len(), task.spent.len()), (1, 0), "{mistake:?} was tried again");
        assert!(
            matches!(task.past[0].ending, Ending::Failed { .. }),
            "{mistake:?}: {:?}",
            task.past[0].ending
        );
        for words in mistake.words(live.model.port()) {
            assert!(request.question.contains(&words), "{mistake:?}: no {words:?} in {:?}", request.question);
        }
        assert!(!request.question.contains(KEY));
        let is_idle = std::env::var_os("ACQUIT_TEST_IDLE").is_some();
        assert!(
            !is_idle || mistake != Mistake::WrongKey || took < WRONG_KEY_LIMIT,
            "{}: asked after {took:?}",
            agent.adapter()
        );
        let question = request.question.replace(&live.model.port().to_string(), "PORT");
        rows.push((called, took, question));
    }
    document(agent.adapter(), &rows);
}

/// `acquit agents --ask`: the model's answer arrives, or the words say what to add.
pub(crate) fn by_agents(agent: Agent) {
    for (lacks, code) in [(Lacks::Nothing, 0), (Lacks::Host, 1), (Lacks::Key, 1)] {
        let more = More { lacks, ..More::default() };
        let Some(live) = Live::new(agent, CODE, Scripts::default(), more) else { return };
        let ran = live.sandbox.start(&["agents", "--ask", "bot", "--json"]).wait_within(PATIENCE).must(code);
        let said: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let [one] = said["agents"].as_array().unwrap().as_slice() else { panic!("{said}") };
        let reply = &one["reply"];
        assert_eq!(reply["answers"], code == 0, "{lacks:?}: {said}");
        let trouble = reply["trouble"].as_str().unwrap_or_default();
        let words = match lacks {
            Lacks::Host => format!("hosts = [\"api.example.com\", \"127.0.0.1:{}\"]", live.model.port()),
            Lacks::Key => "is not logged in".to_owned(),
            Lacks::Nothing | Lacks::Program | Lacks::Address => String::new(),
        };
        assert!(trouble.contains(&words) && !trouble.contains("approve"), "{lacks:?}: {trouble}");
        assert!(lacks != Lacks::Host || live.model.requests().is_empty());
        assert!(!ran.out.contains(KEY));
        // It has a store of its own, and leaves nothing.
        live.sandbox.acquit(&["task", "list", "--json"]).must(0).said("[]");
        let left = std::fs::read_dir(live.sandbox.place("acquit/sandboxes")).unwrap().count();
        assert_eq!(left, 0, "{lacks:?}");
    }
}

/// Writes the rows of an agent into the table, or compares them with it: the mistakes, and which of them take longer than the
/// documentation says.
fn document(agent: &str, rows: &[(&str, Duration, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let first = |called: &str| format!("| {agent} | {called} |");
    if std::env::var_os("UPDATE_TABLES").is_some() {
        let lines = text.lines().map(|line| {
            let row = rows.iter().find(|(called, ..)| line.starts_with(&first(called)));
            row.map_or_else(
                || line.to_owned(),
                |(called, took, question)| {
                    format!("{} {:.1} s | {} |", first(called), took.as_secs_f64(), shown(question))
                },
            )
        });
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        std::fs::write(&path, text).unwrap();
        return;
    }
    for (called, _, question) in rows {
        let line = text.lines().find(|line| line.starts_with(&first(called)));
        let line = line.unwrap_or_else(|| panic!("docs/agents.md has no row {}", first(called)));
        let stem: String = shown(question).chars().take(60).collect();
        assert!(line.contains(&stem), "docs/agents.md says {line:?}, and the question is {question:?}");
    }
}

/// A question as a cell.
fn shown(question: &str) -> String {
    let line = question.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let short: String = line.chars().take(260).collect();
    format!("`{}`", short.replace('`', "'"))
}
