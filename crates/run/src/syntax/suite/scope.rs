//! Resolves names in a file and in a test, and finds out whether an expression is constant.

use std::collections::{HashMap, HashSet};

use acquit_core::check::source::Language;

use super::super::ir::{Kind, Literal, Node};

/// Maximum number of steps to follow a name.
const FOLLOWED: usize = 6;

/// The definitions of a file at the top level and in its classes.
pub(super) struct File<'a> {
    pub(super) language: Language,
    /// Functions by name, including those of classes.
    pub(super) functions: HashMap<&'a str, &'a Node>,
    /// Values that are assigned once.
    pub(super) values: Names<'a>,
    /// Imported names, with their original names.
    pub(super) imports: HashMap<&'a str, &'a str>,
    /// All names that occur in imports.
    pub(super) imported: HashSet<String>,
    /// Names of assertion libraries that convert both sides before comparing.
    pub(super) loose: HashSet<String>,
    /// Local names of assertions, with the library's names for them; and names of assertion libraries.
    pub(super) asserting: HashMap<String, String>,
}

/// Values assigned to names. `None` if a value is not visible.
#[derive(Clone, Default)]
pub(super) struct Names<'a>(HashMap<&'a str, Vec<Option<&'a Node>>>);

impl<'a> Names<'a> {
    /// Collects everything that is assigned below a node.
    pub(super) fn below(root: &'a Node) -> Self {
        let mut names = Self::default();
        for node in root.all() {
            names.add(node);
        }
        names
    }

    pub(super) fn add(&mut self, node: &'a Node) {
        let Kind::Assign(left) = &node.kind else { return };
        let words = left.split(|char: char| !char.is_alphanumeric() && char != '_' && char != '.');
        let words: Vec<&str> = words.filter(|word| !word.is_empty() && *word != "mut").collect();
        let value = node.kids.first();
        // `got, want := f(), 3`: each name has its own value.
        let own = value.filter(|value| {
            matches!(value.kind, Kind::List | Kind::Other)
                && words.len() > 1
                && value.kids.len() == words.len()
        });
        for (at, word) in words.iter().enumerate() {
            let value = own.map_or(value, |values| values.kids.get(at));
            self.0.entry(*word).or_default().push(value);
        }
    }

    /// Returns the value of a name that is assigned once.
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        match self.0.get(name)?.as_slice() {
            [Some(value)] => Some(value),
            _ => None,
        }
    }

    /// Returns whether anything is assigned to the name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

/// The names that are visible inside a function.
pub(super) struct Scope<'f, 'a> {
    pub(super) file: &'f File<'a>,
    pub(super) locals: Names<'a>,
    /// The whole text of the function, to detect what is passed by reference.
    text: &'a str,
}

/// Built-in functions that return the same result for the same input, and that no project tests.
fn pure(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &[
            "len",
            "str",
            "int",
            "float",
            "bool",
            "list",
            "dict",
            "set",
            "sum",
            "min",
            "max",
            "abs",
            "sorted",
            "tuple",
            "repr",
            "round",
            "range",
            "type",
            "isinstance",
            "approx",
        ],
        Language::Script => {
            &["String", "Number", "Boolean", "Array", "Object", "parseInt", "BigInt", "stringify"]
        }
        Language::Rust => &["vec!", "format!", "to_string", "to_owned", "into", "from", "Some", "Ok", "Err"],
        Language::Go => &["len", "string", "int64", "byte", "Errorf", "Sprintf"],
        Language::Java => &["valueOf", "of", "asList", "new String", "new Integer"],
    }
}

impl<'f, 'a> Scope<'f, 'a> {
    pub(super) fn new(file: &'f File<'a>, function: &'a Node) -> Self {
        Self { file, locals: Names::below(function), text: function.raw() }
    }

    /// Returns whether a function is a built-in, and not one of the project with the same name.
    fn is_pure(&self, name: &str) -> bool {
        pure(self.file.language).contains(&name)
            && !self.file.functions.contains_key(name)
            && !self.file.imported.contains(name)
    }

    /// Returns the value of a name, if it is visible.
    pub(super) fn value(&self, name: &str) -> Option<&'a Node> {
        if self.locals.has(name) { self.locals.get(name) } else { self.file.values.get(name) }
    }

    /// Returns whether a node is the same in every run, regardless of the code under test.
    pub(super) fn is_constant(&self, node: &Node) -> bool {
        self.constant(node, FOLLOWED)
    }

    fn constant(&self, node: &Node, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        let all = |nodes: &[Node]| nodes.iter().all(|node| self.constant(node, left));
        match &node.kind {
            Kind::Literal(_) => true,
            Kind::List | Kind::Pair(_) | Kind::Unary(_) | Kind::Binary(_) => {
                // The key of a pair is not a child.
                all(&node.kids) && !node.raw().contains("...")
            }
            Kind::Name(name) if matches!(name.as_str(), "undefined" | "NaN" | "Infinity") => true,
            Kind::Name(name) => {
                let passed = [format!("&{name}"), format!("&mut {name}"), format!("{name}.")];
                let value = self.value(name).filter(|_| !passed.iter().any(|form| self.text.contains(form)));
                // The content of a list can change without an assignment.
                value.is_some_and(|value| value.kind != Kind::List && self.constant(value, left))
            }
            Kind::Call => {
                let pure = self.is_pure(node.called());
                let object = node.kids.first().filter(|callee| matches!(callee.kind, Kind::Member(_)));
                let object = object.and_then(|callee| callee.kids.first());
                let literal = object.is_some_and(|object| {
                    matches!(object.kind, Kind::Literal(_) | Kind::List) && self.constant(object, left)
                });
                (literal || (pure && object.is_none_or(is_own_type))) && all(node.args())
            }
            Kind::Member(_) => node.kids.first().is_some_and(|object| {
                matches!(object.kind, Kind::Literal(_) | Kind::List) && self.constant(object, left)
            }),
            _ => false,
        }
    }

    /// Returns whether a condition is always true, always false, or neither.
    pub(super) fn truth(&self, node: &Node) -> Option<bool> {
        self.true_or_false(node, FOLLOWED)
    }

    fn true_or_false(&self, node: &Node, left: usize) -> Option<bool> {
        let left = left.checked_sub(1)?;
        let kid = |index: usize| node.kids.get(index).and_then(|kid| self.true_or_false(kid, left));
        match &node.kind {
            Kind::Literal(Literal::True) => Some(true),
            Kind::Literal(Literal::False | Literal::None) => Some(false),
            Kind::Literal(Literal::Number) => Some(node.raw().parse::<f64>().ok()? != 0.0),
            Kind::Literal(Literal::Text) => Some(!node.raw().trim_matches(['"', '\'', '`']).is_empty()),
            Kind::List => Some(!node.kids.is_empty()),
            Kind::Unary(sign) if matches!(sign.as_str(), "!" | "not") => kid(0).map(|truth| !truth),
            Kind::Binary(sign) => match sign.as_str() {
                "and" | "&&" => match (kid(0), kid(1)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    _ => None,
                },
                "or" | "||" => match (kid(0), kid(1)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                },
                "==" | "===" | "!=" | "!==" | "is" | "is not" if self.constant(node, left) => {
                    let same = node.kids.first()?.text() == node.kids.get(1)?.text();
                    Some(same == !matches!(sign.as_str(), "!=" | "!==" | "is not"))
                }
                "<" | ">" | "<=" | ">=" if self.constant(node, left) => {
                    let number = |index: usize| node.kids.get(index)?.raw().parse::<f64>().ok();
                    let (a, b) = (number(0)?, number(1)?);
                    Some(match sign.as_str() {
                        "<" => a < b,
                        ">" => a > b,
                        "<=" => a <= b,
                        _ => a >= b,
                    })
                }
                _ => None,
            },
            Kind::Name(name) if name == "TYPE_CHECKING" => Some(false),
            Kind::Name(name) => {
                let value = self.value(name)?;
                if self.constant(node, left) { self.true_or_false(value, left) } else { None }
            }
            Kind::Call if node.called() == "cfg!" => {
                let text = node.text();
                (text.contains("any()") || text.contains("(FALSE)")).then_some(false)
            }
            Kind::Call if matches!(node.called(), "bool" | "Boolean") => {
                node.args().first().and_then(|arg| self.true_or_false(arg, left))
            }
            _ => None,
        }
    }

    /// Returns whether the code under test decides a condition: it calls something, or uses the result of a call. A
    /// condition that depends on the machine does not count.
    pub(super) fn is_result(&self, node: &Node) -> bool {
        const MACHINE: [&str; 14] = [
            "platform",
            "environ",
            "getenv",
            "process.env",
            "env::",
            "goos",
            "goarch",
            "which(",
            "version",
            "cfg!",
            "os.name",
            "isatty",
            "available",
            "installed",
        ];
        let text = node.text().to_lowercase();
        !MACHINE.iter().any(|word| text.contains(word)) && self.comes_from_call(node, FOLLOWED)
    }

    fn comes_from_call(&self, node: &Node, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        node.any(&|node| match &node.kind {
            Kind::Call => !self.is_pure(node.called()),
            Kind::Name(name) if self.locals.has(name) => match self.locals.get(name) {
                Some(value) => self.comes_from_call(value, left),
                // Assigned more than once, such as an error that may be caught.
                None => true,
            },
            _ => false,
        })
    }

    /// Returns the number of entries of an iterated value. `None` if that is not visible.
    pub(super) fn entries(&self, node: &Node) -> Option<u32> {
        let count = |list: &Node| u32::try_from(list.kids.len()).ok();
        match &node.kind {
            Kind::List => count(node),
            Kind::Name(name) => {
                // A list that is filled later is not empty.
                let grown = [format!("{name}.append"), format!("{name}.push"), format!("append({name}")];
                let value =
                    self.value(name).filter(|_| !grown.iter().any(|form| self.text.contains(form)))?;
                if value.kind == Kind::List || value.called() == "vec!" { self.entries(value) } else { None }
            }
            Kind::Call if node.called() == "vec!" => u32::try_from(node.args().len()).ok(),
            Kind::Call if matches!(node.called(), "range") => match node.args() {
                [end] => end.raw().parse().ok(),
                [start, end] => {
                    Some(end.raw().parse::<u32>().ok()?.saturating_sub(start.raw().parse().ok()?))
                }
                _ => None,
            },
            // `rows.iter().skip(1)`, `rows.slice(1)`.
            Kind::Call if matches!(node.called(), "skip" | "slice" | "drop") && node.args().len() == 1 => {
                let less: u32 = node.args().first()?.raw().parse().ok()?;
                let object = node.kids.first().and_then(|callee| callee.kids.first())?;
                Some(self.entries(object)?.saturating_sub(less))
            }
            // `enumerate(rows)`, `rows.items()`, `Object.entries(rows)`, `rows.iter()`.
            Kind::Call => {
                let inner = match (node.called(), node.args()) {
                    ("enumerate" | "entries" | "zip" | "list" | "of" | "keys" | "values", [first, ..]) => {
                        Some(first)
                    }
                    ("items" | "iter" | "into_iter" | "entries" | "enumerate" | "stream", []) => {
                        node.kids.first().and_then(|callee| callee.kids.first())
                    }
                    _ => None,
                };
                inner.and_then(|inner| self.entries(inner))
            }
            _ => None,
        }
    }

    /// Returns the text of an expression with names replaced by their values, once.
    pub(super) fn resolved(&self, node: &Node) -> String {
        match &node.kind {
            Kind::Name(name) => match self.locals.get(name) {
                Some(value) if value.kind != Kind::List => value.text(),
                _ => node.text(),
            },
            Kind::Await => node.kids.first().map(|kid| self.resolved(kid)).unwrap_or_default(),
            _ => node.text(),
        }
    }

    /// Returns the functions that an expression comes from, or the names in it if there are none.
    pub(super) fn about(&self, node: &Node) -> Vec<String> {
        let (mut called, mut named) = (Vec::new(), Vec::new());
        self.collect(node, FOLLOWED, &mut called, &mut named);
        let mut about = if called.is_empty() { named } else { called };
        about.sort();
        about.dedup();
        about.truncate(12);
        about
    }

    fn collect(&self, node: &Node, left: usize, called: &mut Vec<String>, named: &mut Vec<String>) {
        let Some(left) = left.checked_sub(1) else { return };
        for node in node.all() {
            match &node.kind {
                Kind::Call => {
                    let word = node.called().trim_start_matches("new ");
                    if !self.is_pure(node.called()) && !word.is_empty() && word != "()" && word != "?" {
                        called.push(word.to_owned());
                    }
                }
                Kind::Name(name) => match self.locals.get(name) {
                    Some(value) => self.collect(value, left, called, named),
                    None => named.push(name.clone()),
                },
                Kind::Member(name) => named.push(name.clone()),
                _ => {}
            }
            if called.len() + named.len() > 200 {
                return;
            }
        }
    }
}

/// Detects `String.from`, `Vec::from`, `List.of`: the object is a type of the standard library, not a value. A type of
/// the project is what its tests are about: `Celsius::from(3)`, `Money.of(2)`.
fn is_own_type(node: &Node) -> bool {
    const OWN: [&str; 41] = [
        "String",
        "Vec",
        "Box",
        "Rc",
        "Arc",
        "Some",
        "Option",
        "Result",
        "HashMap",
        "HashSet",
        "BTreeMap",
        "BTreeSet",
        "PathBuf",
        "Duration",
        "List",
        "Set",
        "Map",
        "Optional",
        "Arrays",
        "Integer",
        "Long",
        "Double",
        "Float",
        "Boolean",
        "Character",
        "Short",
        "Byte",
        "BigDecimal",
        "BigInteger",
        "Stream",
        "Number",
        "Array",
        "Object",
        "JSON",
        "BigInt",
        "Date",
        "Math",
        "pytest",
        "fmt",
        "np",
        "json",
    ];
    match &node.kind {
        Kind::Name(name) | Kind::Member(name) => {
            let number = name.strip_prefix(['u', 'i', 'f']).is_some_and(|rest| rest.parse::<u8>().is_ok());
            number || OWN.contains(&name.as_str())
        }
        Kind::Literal(_) => true,
        _ => false,
    }
}
