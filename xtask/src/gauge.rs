//! `cargo xtask gauge`: the gates on a labelled corpus of changes, as a table of what they let through and what they refuse.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]
#![allow(clippy::disallowed_methods, reason = "where cargo is stands in the environment")]

use std::path::PathBuf;
use std::time::Instant;

use acquit_testkit::gauge::{Matrix, Place};

use crate::{Stop, runners, shell};

/// Cases that are run at a time: each waits for compilers and runners, which use more than one core themselves.
const BESIDE: usize = 2;

/// Measures the cases whose names contain one of the words, or all.
pub(crate) fn run(words: &[&str]) -> Result<(), Stop> {
    let (options, words): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let json = match options.as_slice() {
        [] => false,
        ["--json"] => true,
        other => return Err(Stop(format!("`gauge` takes words and `--json`, not {}", other.join(" ")))),
    };
    let place = Place {
        corpus: shell::root().join("corpus"),
        binary: binary()?,
        runners: runners::target().join("runners"),
        cargo: std::env::var_os("CARGO")
            .map(PathBuf::from)
            .and_then(|cargo| cargo.parent().map(PathBuf::from)),
    };
    runners::javascript()?;
    let cases = place.cases(&words).map_err(Stop)?;
    if cases.is_empty() {
        return Err(Stop("no case of corpus/ has such a name".to_owned()));
    }
    let began = Instant::now();
    let judged = place.run(&cases, BESIDE, &|judged| {
        let word = match (&judged.trouble, judged.objects()) {
            (Some(_), _) => "not run",
            (None, true) => "objects",
            (None, false) => "passes",
        };
        eprintln!("{word:8} {}", judged.name);
    });
    let matrix = Matrix::of(&judged);
    if json {
        println!("{}", matrix.json());
    } else {
        println!("{matrix}");
        println!("{} cases in {} s", judged.len(), began.elapsed().as_secs());
    }
    Ok(())
}

/// Builds what is measured.
fn binary() -> Result<PathBuf, Stop> {
    if !shell::succeeds(&mut shell::cargo(&["build", "--quiet", "--package", "acquit"]))? {
        return Err(Stop("acquit does not build".to_owned()));
    }
    Ok(runners::target().join("debug/acquit"))
}
