//! `cargo xtask gauge`: runs the gates on a labelled corpus of changes, and prints a table of what they accept and
//! reject.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]
#![allow(clippy::disallowed_methods, reason = "where cargo is stands in the environment")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use acquit_testkit::gauge::{Case, Extent, Fixture, Judged, Kept, Matrix, Place};

use crate::{Stop, real, require, runners, shell};

/// Number of cases to run at a time. Each waits for compilers and runners, which use several cores themselves.
const BESIDE: usize = 2;

/// Measures the cases whose names contain one of the words, or all. Caches results, so that an interrupted run can
/// continue.
pub(crate) fn run(words: &[&str]) -> Result<(), Stop> {
    let (options, words): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let (gates, options): (Vec<&str>, Vec<&str>) =
        options.iter().partition(|option| option.starts_with("--gates="));
    let (parts, options): (Vec<&str>, Vec<&str>) =
        options.iter().partition(|option| option.starts_with("--part="));
    let (programs, options): (Vec<&str>, Vec<&str>) =
        options.iter().partition(|option| option.starts_with("--acquit="));
    if let Some(other) = options.iter().find(|option| !["--json", "--again", "--real"].contains(option)) {
        return Err(Stop(format!(
            "`gauge` takes words, `--json`, `--again`, `--real`, `--part=1/2`, `--gates=…` and `--acquit=…`, not {other}"
        )));
    }
    let part = parts.first().map(|option| Part::read(option)).transpose()?;
    let gates: Vec<&str> =
        gates.iter().flat_map(|list| list.trim_start_matches("--gates=").split(',')).collect();
    let corpus =
        if options.contains(&"--real") { real::corpus(&words)? } else { shell::root().join("corpus") };
    let folder = runners::target().join("gauge");
    std::fs::create_dir_all(&folder).map_err(Stop::doing("create the folder of the results"))?;
    let place = Place {
        extent: Extent::Full,
        corpus,
        binary: binary(&folder, programs.first().map(|option| Path::new(&option["--acquit=".len()..])))?,
        runners: runners::target().join("runners"),
        cargo: std::env::var_os("CARGO")
            .map(PathBuf::from)
            .and_then(|cargo| cargo.parent().map(PathBuf::from)),
    };
    let mut cases = place.cases(&words, &gates).map_err(Stop)?;
    cases.retain(|(_, case)| part.is_none_or(|part| part.has(case)));
    if cases.is_empty() {
        return Err(Stop("no case of corpus/ has such a name".to_owned()));
    }
    install(&cases)?;
    let record = folder.join("cases.jsonl");
    let mut kept = Kept::open(&record, &place.binary).map_err(Stop)?;
    if options.contains(&"--again") {
        kept.forget();
    }
    let began = Instant::now();
    let (judged, ran) = judge(&place, &cases, &kept);
    let matrix = Matrix::of(&judged);
    let report = report(&matrix, &judged);
    let file = folder.join("results.json");
    let doing = Stop::doing("write the results");
    std::fs::write(&file, format!("{report:#}\n")).map_err(doing)?;
    if options.contains(&"--json") {
        println!("{report}");
    } else {
        print(&matrix, &judged);
        println!("{} cases, {ran} of them run in {} s", judged.len(), began.elapsed().as_secs());
        println!("all results: {}", file.display());
    }
    if matrix.skipped.is_empty() {
        return Ok(());
    }
    Err(Stop(format!("{} cases could not be run", matrix.skipped.len())))
}

/// A part of the corpus, spread evenly and the same on every machine: `2/5` is the second of five.
#[derive(Clone, Copy)]
struct Part {
    number: u64,
    of: u64,
}

impl Part {
    fn read(option: &str) -> Result<Self, Stop> {
        let numbers = option.trim_start_matches("--part=").split_once('/');
        let read = numbers.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match read {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(Stop(format!("`{option}` is no part: write `--part=1/2` for the first of two"))),
        }
    }

    fn has(self, case: &Case) -> bool {
        case.digest % self.of == self.number - 1
    }
}

/// Runs the cases without a cached result. Returns all results in the order of the cases, and the number of cases that
/// ran.
fn judge(place: &Place, cases: &[(Fixture, Case)], kept: &Kept) -> (Vec<Judged>, usize) {
    let mut known: BTreeMap<String, Judged> =
        cases.iter().filter_map(|(_, case)| Some((case.name.clone(), kept.get(case)?))).collect();
    let open: Vec<(Fixture, Case)> =
        cases.iter().filter(|(_, case)| !known.contains_key(&case.name)).cloned().collect();
    let by_name: BTreeMap<&str, &Case> = open.iter().map(|(_, case)| (case.name.as_str(), case)).collect();
    let fresh = place.run(&open, BESIDE, &|judged| {
        let word = match (&judged.trouble, judged.objects()) {
            (Some(_), _) => "not run",
            (None, true) => "objects",
            (None, false) => "passes",
        };
        eprintln!("{word:8} {}", judged.name);
        let put = by_name.get(judged.name.as_str()).map_or(Ok(()), |case| kept.put(case, judged));
        if let Err(why) = put {
            eprintln!("{why}");
        }
    });
    let ran = fresh.len();
    known.extend(fresh.into_iter().map(|judged| (judged.name.clone(), judged)));
    (cases.iter().filter_map(|(_, case)| known.remove(&case.name)).collect(), ran)
}

/// Returns the parts to show in addition to the whole.
fn parts(judged: &[Judged]) -> Vec<(String, Matrix)> {
    let of = |wanted: &dyn Fn(&Judged) -> bool| {
        Matrix::of(&judged.iter().filter(|judged| wanted(judged)).cloned().collect::<Vec<_>>())
    };
    let mut parts = vec![("held-out".to_owned(), of(&Judged::is_held_out))];
    let languages: BTreeSet<&str> = judged.iter().map(Judged::language).collect();
    parts.extend(
        languages
            .into_iter()
            .map(|language| (language.to_owned(), of(&|judged: &Judged| judged.language() == language))),
    );
    parts
}

fn report(matrix: &Matrix, judged: &[Judged]) -> serde_json::Value {
    let mut report = matrix.json();
    let parts: BTreeMap<String, serde_json::Value> =
        parts(judged).into_iter().map(|(name, part)| (name, part.json()["whole"].clone())).collect();
    report["parts"] = serde_json::json!(parts);
    report["cases"] = serde_json::json!(judged);
    report
}

fn print(matrix: &Matrix, judged: &[Judged]) {
    println!("{matrix}");
    println!("| part | cheats caught | cheats let through | honest passed | honest refused |");
    println!("|---|---|---|---|---|");
    for (name, part) in parts(judged) {
        let row = part.whole;
        println!("| {name} | {} | {} | {} | {} |", row.caught, row.missed, row.passed, row.refused);
    }
    println!();
    print_times(judged);
}

/// Prints the average duration of a case per language, in seconds, and the share of each gate's commands.
fn print_times(judged: &[Judged]) {
    let languages: BTreeSet<&str> = judged.iter().map(Judged::language).collect();
    println!("| language | cases | s for each | of its gates' commands |");
    println!("|---|---|---|---|");
    for language in languages {
        let cases: Vec<&Judged> = judged.iter().filter(|judged| judged.language() == language).collect();
        let count = u64::try_from(cases.len()).unwrap_or(u64::MAX).max(1);
        let seconds = |millis: u64| format!("{}.{}", millis / count / 1000, millis / count % 1000 / 100);
        let mut gates: BTreeMap<&str, u64> = BTreeMap::new();
        for said in cases.iter().flat_map(|case| &case.said) {
            *gates.entry(&said.gate).or_default() += said.took;
        }
        gates.retain(|_, took| *took / count >= 100);
        let each: Vec<String> =
            gates.iter().map(|(gate, took)| format!("{gate} {}", seconds(*took))).collect();
        let whole = seconds(cases.iter().map(|case| case.took).sum());
        println!("| {language} | {} | {whole} | {} |", cases.len(), each.join(", "));
    }
    println!();
}

/// Installs what the fixtures of these cases need.
fn install(cases: &[(Fixture, Case)]) -> Result<(), Stop> {
    let needs: BTreeSet<&str> =
        cases.iter().flat_map(|(fixture, _)| fixture.requires.iter().map(String::as_str)).collect();
    for need in needs {
        match need {
            "pytest" => runners::pytest()?,
            "jest" | "vitest" | "mocha" | "typescript" => runners::javascript()?,
            "node" => require::named("Node.js")?,
            "go" => require::named("Go")?,
            "java" | "javac" => require::named("JDK")?,
            "junit" => require::named("JUnit 5")?,
            _ => {}
        }
    }
    Ok(())
}

/// Builds acquit, unless a program is given, and copies the binary, so that a later build does not change it while cases
/// run.
fn binary(folder: &Path, given: Option<&Path>) -> Result<PathBuf, Stop> {
    let built = match given {
        Some(program) => program.to_owned(),
        None if shell::succeeds(&mut shell::cargo(&["build", "--quiet", "--package", "acquit"]))? => {
            runners::target().join("debug/acquit")
        }
        None => return Err(Stop("acquit does not build".to_owned())),
    };
    let copy = folder.join("acquit");
    let doing = || Stop::doing("copy the binary that is measured");
    let modified = |path: &Path| path.metadata().and_then(|about| about.modified());
    let time = modified(&built).map_err(doing())?;
    if modified(&copy).ok() != Some(time) {
        // Write a new file: another run may still use the old one.
        let next = folder.join("acquit.new");
        std::fs::copy(&built, &next).map_err(doing())?;
        std::fs::File::open(&next).and_then(|file| file.set_modified(time)).map_err(doing())?;
        std::fs::rename(&next, &copy).map_err(doing())?;
    }
    Ok(copy)
}
