//! Coverage of changed lines: parses lcov, Cobertura, JaCoCo and Go reports and applies them to a change.

use std::collections::{BTreeMap, HashMap, HashSet};

use globset::GlobSet;

use super::Finding;
use super::diff::{Diff, FileChange};
use super::source::{Language, Source};
use crate::gate::Format;
use crate::results::xml::{Event, Reader};

/// Maximum number of files in a report.
const MOST_FILES: usize = 200_000;

/// The number of executions of each line by file. Lines that are missing cannot be executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered(BTreeMap<String, BTreeMap<u32, u64>>);

/// The coverage of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of changed lines that can be executed.
    pub lines: usize,
    /// Number of those that were executed.
    pub covered: usize,
    /// The others, by file.
    pub findings: Vec<Finding>,
}

impl Share {
    /// Returns the percentage, rounded down; `None` if no changed line can be executed.
    pub fn percent(&self) -> Option<usize> {
        (self.lines > 0).then(|| self.covered * 100 / self.lines)
    }
}

impl Covered {
    /// Adds a report of this format. Ignores formats without line coverage.
    pub fn add(&mut self, format: Format, text: &str) {
        match format {
            Format::Lcov => self.add_lcov(text),
            Format::Cobertura => self.add_cobertura(text),
            Format::Jacoco => self.add_jacoco(text),
            Format::GoCover => self.add_go(text),
            Format::Junit | Format::Libtest | Format::GoTest | Format::Sarif | Format::Mutation => {}
        }
    }

    /// Adds an lcov report: `SF:<path>`, `DA:<line>,<count>`.
    fn add_lcov(&mut self, text: &str) {
        let mut file: Option<String> = None;
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("SF:") {
                file = Some(path.trim().to_owned());
            } else if line.trim() == "end_of_record" {
                file = None;
            } else if let (Some(counts), Some(file)) = (line.strip_prefix("DA:"), &file) {
                let mut parts = counts.split(',');
                let number = parts.next().and_then(|number| number.trim().parse().ok());
                let hits = parts.next().and_then(|hits| hits.trim().parse().ok());
                if let (Some(number), Some(hits)) = (number, hits) {
                    self.hit(file, number, hits);
                }
            }
        }
    }

    /// Adds a Cobertura report: lines with numbers and hits, in classes with a file.
    fn add_cobertura(&mut self, text: &str) {
        let mut reader = Reader::new(text);
        let mut file: Option<String> = None;
        while let Some(event) = reader.next() {
            let Event::Start { name, attributes, .. } = event else { continue };
            let value = |key: &str| attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
            match name {
                "class" => file = value("filename").cloned(),
                "line" => {
                    let number = value("number").and_then(|number| number.parse().ok());
                    let hits = value("hits").and_then(|hits| hits.parse().ok());
                    if let (Some(file), Some(number), Some(hits)) = (&file, number, hits) {
                        self.hit(file, number, hits);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds a JaCoCo report: lines with missed and covered instructions, in source files of packages.
    fn add_jacoco(&mut self, text: &str) {
        let mut reader = Reader::new(text);
        let (mut package, mut file) = (String::new(), None);
        while let Some(event) = reader.next() {
            let Event::Start { name, attributes, .. } = event else { continue };
            let value = |key: &str| attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
            match name {
                "package" => package = value("name").cloned().unwrap_or_default(),
                "sourcefile" => file = value("name").map(|name| format!("{package}/{name}")),
                "line" => {
                    let number = value("nr").and_then(|number| number.parse().ok());
                    let hits = value("ci").and_then(|hits| hits.parse().ok());
                    if let (Some(file), Some(number), Some(hits)) = (&file, number, hits) {
                        self.hit(file, number, hits);
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds a Go profile: `<path>:<line>.<column>,<line>.<column> <statements> <count>`. A line is executed as often as
    /// its block; a line in several blocks as often as all of them together.
    fn add_go(&mut self, text: &str) {
        /// No hand-written block is longer.
        const LONGEST: u32 = 20_000;
        for line in text.lines() {
            let mut words = line.rsplitn(3, ' ');
            let (hits, statements, place) = (words.next(), words.next(), words.next());
            let Some((path, range)) = place.and_then(|place| place.rsplit_once(':')) else { continue };
            let number = |place: &str| place.split('.').next().and_then(|number| number.parse::<u32>().ok());
            let ends = range.split_once(',').and_then(|(first, last)| Some((number(first)?, number(last)?)));
            let hits = hits.and_then(|hits| hits.parse().ok());
            if let (Some((first, last)), Some(hits)) = (ends, hits)
                && statements != Some("0")
                && last.checked_sub(first).is_some_and(|length| length < LONGEST)
            {
                (first..=last).for_each(|number| self.hit(path, number, hits));
            }
        }
    }

    fn hit(&mut self, file: &str, number: u32, hits: u64) {
        if self.0.len() < MOST_FILES || self.0.contains_key(file) {
            let count = self.0.entry(file.to_owned()).or_default().entry(number).or_default();
            *count = count.saturating_add(hits);
        }
    }

    /// Returns whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the coverage of the lines that a change adds. `root` is the folder that the report's paths are relative
    /// to.
    pub fn of(&self, diff: &Diff, root: &str, exempt: &GlobSet) -> Share {
        let files = Files::new(self, root);
        let mut share = Share::default();
        for file in &diff.files {
            let Some(path) = file.new.as_deref().filter(|path| !exempt.is_match(path)) else { continue };
            let (lines, missing) = match files.find(path) {
                Some(counts) => {
                    let code: HashSet<u32> = lines_of_code(file).into_iter().collect();
                    // A line with only brackets can be part of a block, but has nothing to execute.
                    let has_code = |line: &u32| Language::of(path).is_none() || code.contains(line);
                    let known: Vec<(u32, u64)> = file
                        .added()
                        .filter(|line| has_code(&line.number))
                        .filter_map(|line| Some((line.number, *counts.get(&line.number)?)))
                        .collect();
                    let missing =
                        known.iter().filter(|(_, hits)| *hits == 0).map(|(line, _)| *line).collect();
                    (known.len(), missing)
                }
                None if files.measures(path) => {
                    let missing: Vec<u32> = lines_of_code(file);
                    (missing.len(), missing)
                }
                None => (0, Vec::new()),
            };
            share.lines += lines;
            share.covered += lines - missing.len();
            if let Some(first) = missing.first() {
                let what = format!("no test executes {}", ranges(&missing));
                share.findings.push(Finding::new("uncovered", path, Some(*first), what));
            }
        }
        share
    }
}

/// The files of a report, indexed to find them by the paths of a change.
struct Files<'a> {
    by_path: HashMap<String, &'a BTreeMap<u32, u64>>,
    by_name: HashMap<String, Vec<String>>,
    kinds: HashSet<String>,
}

impl<'a> Files<'a> {
    fn new(covered: &'a Covered, root: &str) -> Self {
        let mut by_path = HashMap::new();
        let mut by_name: HashMap<String, Vec<String>> = HashMap::new();
        let mut kinds = HashSet::new();
        for (path, counts) in &covered.0 {
            let path = path.replace('\\', "/");
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let relative = relative.trim_start_matches("./").trim_start_matches('/').to_owned();
            kinds.extend(extension(&relative));
            by_name.entry(name(&relative).to_owned()).or_default().push(relative.clone());
            by_path.insert(relative, counts);
        }
        Self { by_path, by_name, kinds }
    }

    /// Finds a file by its path, or by the only path that ends with it or that it ends with. Reports of a package start
    /// at the package.
    fn find(&self, path: &str) -> Option<&'a BTreeMap<u32, u64>> {
        if let Some(counts) = self.by_path.get(path) {
            return Some(counts);
        }
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let same = self.by_name.get(name(path)).into_iter().flatten();
        let mut fitting: Vec<&String> = same.filter(|other| ends(other, path) || ends(path, other)).collect();
        // Prefer `example.com/project/a.go` to `example.com/project/inner/a.go`.
        let depth = |path: &str| path.matches('/').count();
        fitting.sort_by_key(|other| depth(other));
        match fitting.as_slice() {
            [other] => self.by_path.get(*other).copied(),
            [other, next, ..] if ends(other, path) && depth(other) < depth(next) => {
                self.by_path.get(*other).copied()
            }
            _ => None,
        }
    }

    /// Returns whether the report covers files of this kind. If so, a file that is missing from it was never loaded.
    fn measures(&self, path: &str) -> bool {
        Language::of(path).is_some() && extension(path).is_some_and(|kind| self.kinds.contains(&kind))
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn extension(path: &str) -> Option<String> {
    name(path).rsplit_once('.').map(|(_, extension)| extension.to_owned())
}

/// Returns how many lines of code a change adds to files that are not exempt. If none of them was measured, their
/// coverage is unknown.
pub fn code_lines(diff: &Diff, exempt: &GlobSet) -> usize {
    let judged =
        diff.files.iter().filter(|file| file.new.as_deref().is_some_and(|path| !exempt.is_match(path)));
    judged.map(|file| lines_of_code(file).len()).sum()
}

/// Returns the added lines that contain code.
fn lines_of_code(file: &FileChange) -> Vec<u32> {
    let Some(language) = Language::of(file.path()) else { return Vec::new() };
    let source = Source::new(language, file.after());
    let has_code = |line: &u32| {
        let bare = source.bare.get(source.line(*line)).unwrap_or_default();
        bare.chars().any(char::is_alphanumeric)
    };
    file.added().map(|line| line.number).filter(has_code).collect()
}

/// Formats as `lines 3-5, 9`, bounded.
fn ranges(lines: &[u32]) -> String {
    const SHOWN: usize = 10;
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    let text = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let shown: Vec<String> = ranges.iter().take(SHOWN).map(text).collect();
    let more = if ranges.len() > SHOWN { ", …" } else { "" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}{more}", shown.join(", "))
}
