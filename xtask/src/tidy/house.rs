//! `cargo xtask house`: prints code metrics: cycles, dependencies, sizes, documentation, and how many places an
//! addition touches.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

use super::modules::{Graph, graphs};
use super::source::{File, Tree};

/// How many entries of each list to print.
const SHOWN: usize = 8;

/// Prints all metrics.
pub(super) fn print(tree: &Tree) {
    let graphs = graphs(tree);
    crates(tree, &graphs);
    cycles(&graphs);
    fan(&graphs);
    sizes(tree);
    super::places::print(tree);
}

fn product<'a>(tree: &'a Tree, below: &'a str) -> impl Iterator<Item = &'a File> {
    tree.rust().filter(move |file| {
        file.path.starts_with(below) && file.path.contains("/src/") && !file.is_test_at(0)
    })
}

fn crates(tree: &Tree, graphs: &[Graph]) {
    println!(
        "{:<10} {:>6} {:>7} {:>6} {:>8} {:>10} {:>14}",
        "crate", "files", "lines", "docs", "modules", "in cycles", "inside folders"
    );
    for top in graphs.iter().filter(|graph| graph.folder.is_empty()) {
        let prefix = format!("crates/{}/src/", top.name);
        let files: Vec<&File> = tree.rust().filter(|file| file.path.starts_with(&prefix)).collect();
        let lines: usize = files.iter().map(|file| file.text.lines().count()).sum();
        let is_doc =
            |line: &&str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
        let docs: usize = files.iter().map(|file| file.text.lines().filter(is_doc).count()).sum();
        let tied = |graph: &Graph| graph.cycles().iter().map(Vec::len).sum::<usize>();
        let inside: usize =
            graphs.iter().filter(|it| it.name == top.name && !it.folder.is_empty()).map(tied).sum();
        println!(
            "{:<10} {:>6} {lines:>7} {:>6} {:>8} {:>10} {inside:>14}",
            top.name,
            files.len(),
            format!("{} %", docs * 100 / lines.max(1)),
            top.uses.len(),
            tied(top)
        );
    }
}

fn cycles(graphs: &[Graph]) {
    for graph in graphs {
        for cycle in graph.cycles() {
            println!("\n{}/{}: {} modules use each other in a circle", graph.name, graph.folder, cycle.len());
            for module in &cycle {
                let inside = graph.uses[*module].iter().filter(|other| cycle.contains(&other.as_str()));
                println!("  {module} -> {}", inside.cloned().collect::<Vec<_>>().join(", "));
            }
        }
    }
}

fn fan(graphs: &[Graph]) {
    let mut fan: Vec<(usize, usize, String)> = Vec::new();
    for graph in graphs.iter().filter(|graph| graph.folder.is_empty()) {
        for (module, uses) in &graph.uses {
            let used_by = graph.uses.values().filter(|others| others.contains(module)).count();
            fan.push((used_by, uses.len(), format!("{}::{module}", graph.name)));
        }
    }
    println!("\nmost used modules of a crate (fan-in)");
    fan.sort_by(|a, b| b.cmp(a));
    fan.iter().take(SHOWN).for_each(|(used_by, _, module)| println!("  {used_by:>4}  {module}"));
    println!("modules that use most others (fan-out)");
    fan.sort_by_key(|(_, uses, _)| std::cmp::Reverse(*uses));
    fan.iter().take(SHOWN).for_each(|(_, uses, module)| println!("  {uses:>4}  {module}"));
}

fn sizes(tree: &Tree) {
    let mut files = Vec::new();
    let mut functions = Vec::new();
    for file in product(tree, "crates/") {
        files.push((file.text.lines().count(), file.path.clone()));
        for (name, lines) in file.functions() {
            functions.push((lines, format!("{name} in {}", file.path)));
        }
    }
    table("files", &mut files, &[150, 300, 450, 600]);
    table("functions", &mut functions, &[10, 25, 50, 100]);
}

/// Prints a histogram by number of lines, and the longest.
fn table(what: &str, all: &mut [(usize, String)], steps: &[usize]) {
    all.sort_unstable_by(|a, b| b.cmp(a));
    let mut below = 0;
    let mut parts = Vec::new();
    for step in steps {
        let count = all.iter().filter(|(lines, _)| (below + 1..=*step).contains(lines)).count();
        parts.push(format!("{count} up to {step}"));
        below = *step;
    }
    let longer = all.iter().filter(|(lines, _)| *lines > below).count();
    println!("\n{} {what} by lines: {}, {longer} longer", all.len(), parts.join(", "));
    all.iter().take(SHOWN).for_each(|(lines, name)| println!("  {lines:>4}  {name}"));
}
