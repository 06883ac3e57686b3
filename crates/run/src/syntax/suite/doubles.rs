//! Finds the parts that a test file replaces by test doubles, and its imports.

use acquit_core::agent::shorten;
use acquit_core::check::outline::{Double, MOST, Outline, TEXT};
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Literal, Node};
use super::scope::File;

pub(super) fn add(file: &File<'_>, root: &Node, outline: &mut Outline) {
    let modules = modules(file.language, root);
    for (_, names) in &modules {
        outline.imports.extend(names.iter().cloned());
    }
    outline.imports.extend(file.imports.keys().map(|name| (*name).to_owned()));
    outline.imports.sort();
    outline.imports.dedup();
    for node in root.all() {
        let names = match &node.kind {
            Kind::Call => called(node, &modules),
            Kind::Assign(name) if name.contains('.') => {
                let double = node.kids.first().is_some_and(is_double);
                if double { vec![last(name)] } else { Vec::new() }
            }
            // Go: a package variable that holds the function.
            Kind::Assign(name) if file.language == Language::Go && is_of_package(file, node, name) => {
                vec![name.clone()]
            }
            _ => Vec::new(),
        };
        if !names.is_empty() && outline.doubles.len() < MOST {
            outline.doubles.push(Double { line: node.line, text: shorten(&node.text(), TEXT), names });
        }
    }
}

/// Returns whether a function is assigned to a variable that this file does not declare.
fn is_of_package(file: &File<'_>, node: &Node, name: &str) -> bool {
    let declares = node.raw().contains(":=") || file.values.has(name) || file.functions.contains_key(name);
    !declares && node.kids.first().is_some_and(|value| value.any(&|node| node.function().is_some()))
}

fn last(path: &str) -> String {
    path.rsplit(['.', ':', '/']).next().unwrap_or_default().to_owned()
}

fn is_double(node: &Node) -> bool {
    matches!(node.called(), "Mock" | "MagicMock" | "AsyncMock" | "fn" | "stub" | "mock" | "create_autospec")
        || node.function().is_some()
}

fn text(node: &Node) -> Option<String> {
    (node.kind == Kind::Literal(Literal::Text)).then(|| node.raw().trim_matches(['"', '\'', '`']).to_owned())
}

/// Returns the names that a call replaces.
fn called(call: &Node, modules: &[(String, Vec<String>)]) -> Vec<String> {
    let callee = call.callee();
    let args = call.args();
    let first = args.first().and_then(text);
    let second = args.get(1).and_then(text);
    let path: Vec<&str> = callee.split('.').collect();
    match path.as_slice() {
        [.., "patch", "object"]
        | [.., "setattr" | "spyOn"]
        | ["sinon", "stub" | "replace"]
        | [.., "mock", "method"] => {
            let watched = path.last() == Some(&"spyOn");
            // A plain spy lets the call through.
            if watched {
                Vec::new()
            } else {
                second
                    .or_else(|| first.filter(|name| name.contains('.')).map(|name| last(&name)))
                    .into_iter()
                    .collect()
            }
        }
        [.., "spyOn", "()", word] if word.starts_with("mock") => {
            let spy = call.kids.first().and_then(|callee| callee.kids.first());
            spy.and_then(|spy| spy.args().get(1)).and_then(text).into_iter().collect()
        }
        ["patch"] | [.., "patch"] => {
            first.filter(|name| name.contains('.')).map(|name| last(&name)).into_iter().collect()
        }
        ["jest" | "vi", "mock" | "doMock"] | ["mock", "module"] => {
            let Some(module) = first else { return Vec::new() };
            let keeps = ["requireActual", "importActual", "importOriginal"]
                .iter()
                .any(|word| call.raw().contains(word));
            let names =
                modules.iter().filter(|(path, _)| *path == module).flat_map(|(_, names)| names.clone());
            let listed = |name: &String| {
                !keeps
                    || call.args().iter().skip(1).any(|factory| {
                        factory.any(&|node| matches!(&node.kind, Kind::Pair(key) if key == name))
                    })
            };
            names.filter(listed).collect()
        }
        [.., "mockStatic"] => {
            args.first().map(|class| class.text().trim_end_matches(".class").to_owned()).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the modules that a file imports, with the names from each.
pub(super) fn modules(language: Language, root: &Node) -> Vec<(String, Vec<String>)> {
    let mut modules = Vec::new();
    let words = |text: &str| -> Vec<String> {
        text.split(|char: char| !char.is_alphanumeric() && char != '_' && char != '$')
            .filter(|word| {
                !word.is_empty()
                    && !matches!(
                        *word,
                        "import" | "from" | "as" | "type" | "const" | "let" | "var" | "require" | "default"
                    )
            })
            .map(str::to_owned)
            .collect()
    };
    for node in root.all() {
        let raw = node.raw();
        match (&node.kind, language) {
            (Kind::Other, Language::Script) if raw.starts_with("import ") => {
                if let Some((names, path)) = raw.rsplit_once(" from ") {
                    modules.push((path.trim().trim_matches([';', '"', '\'', ' ']).to_owned(), words(names)));
                }
            }
            (Kind::Assign(names), Language::Script) => {
                let call = node.kids.first().filter(|value| value.called() == "require");
                if let Some(path) = call.and_then(|call| call.args().first()).and_then(text) {
                    modules.push((path, words(names)));
                }
            }
            (Kind::Other, Language::Python) if raw.starts_with("from ") || raw.starts_with("import ") => {
                let (path, names) = match raw.split_once(" import ") {
                    Some((path, names)) => (path.trim_start_matches("from ").to_owned(), words(names)),
                    None => (String::new(), words(raw)),
                };
                modules.push((path, names));
            }
            (Kind::Other, Language::Rust) if raw.starts_with("use ") => {
                modules.push((String::new(), words(raw)));
            }
            (Kind::Other, Language::Java) if raw.starts_with("import ") => {
                modules.push((String::new(), words(raw)));
            }
            _ => {}
        }
    }
    modules
}
