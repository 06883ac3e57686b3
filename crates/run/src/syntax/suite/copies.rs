//! Finds functions that need nothing but the language itself: a copy of the code under test looks like this.

use acquit_core::check::source::Language;

use super::super::ir::{Kind, Node};
use super::scope::File;
use super::vocabulary::asserts_by_name;

/// How deep to follow calls within the file.
const DEEPEST: usize = 4;

/// Modules of the standard libraries, and types with their own functions.
const MODULES: [&str; 36] = [
    "strings",
    "strconv",
    "math",
    "fmt",
    "sort",
    "errors",
    "unicode",
    "bytes",
    "slices",
    "maps",
    "re",
    "datetime",
    "json",
    "itertools",
    "functools",
    "collections",
    "operator",
    "decimal",
    "Math",
    "Number",
    "String",
    "Object",
    "Array",
    "JSON",
    "Integer",
    "Double",
    "Long",
    "List",
    "Arrays",
    "Collections",
    "Vec",
    "Some",
    "Ok",
    "HashMap",
    "BTreeMap",
    "std",
];

/// Methods of strings, numbers and lists.
const METHODS: [&str; 62] = [
    "append",
    "join",
    "split",
    "strip",
    "trim",
    "lower",
    "upper",
    "push",
    "map",
    "filter",
    "reduce",
    "slice",
    "format",
    "items",
    "keys",
    "values",
    "get",
    "replace",
    "sort",
    "toFixed",
    "round",
    "to_string",
    "to_owned",
    "iter",
    "collect",
    "sum",
    "len",
    "is_empty",
    "push_str",
    "chars",
    "toLowerCase",
    "toUpperCase",
    "concat",
    "length",
    "charAt",
    "substring",
    "contains",
    "includes",
    "indexOf",
    "forEach",
    "fill",
    "entries",
    "abs",
    "floor",
    "ceil",
    "rev",
    "reverse",
    "enumerate",
    "zip",
    "min",
    "max",
    "startswith",
    "startsWith",
    "endswith",
    "endsWith",
    "size",
    "add",
    "put",
    "stream",
    "toList",
    "extend",
    "repeat",
];

/// Keywords and built-ins that are called like functions.
const BUILTINS: [&str; 34] = [
    "len",
    "append",
    "make",
    "cap",
    "copy",
    "string",
    "int",
    "int64",
    "float64",
    "byte",
    "rune",
    "min",
    "max",
    "str",
    "float",
    "bool",
    "list",
    "dict",
    "set",
    "sum",
    "abs",
    "sorted",
    "tuple",
    "round",
    "range",
    "enumerate",
    "zip",
    "Number",
    "String",
    "format!",
    "vec!",
    "parseInt",
    "isinstance",
    "reversed",
];

/// Returns the functions that are not tests, assert nothing, compute something and need nothing from elsewhere.
pub(super) fn find(file: &File<'_>, is_test: &dyn Fn(&Node) -> bool) -> Vec<String> {
    let mut found: Vec<String> = file
        .functions
        .iter()
        .filter(|(name, function)| {
            !is_test(function)
                && !asserts_by_name(name)
                && computes(function)
                && stands_alone(file, function, DEEPEST)
        })
        .map(|(name, _)| (*name).to_owned())
        .collect();
    found.sort();
    found
}

/// Returns whether a function does arithmetic, compares, or iterates.
fn computes(function: &Node) -> bool {
    let given = function.function().is_some_and(|function| !function.params.is_empty());
    given && function.any(&|node| matches!(node.kind, Kind::Binary(_) | Kind::Loop | Kind::If | Kind::Match))
}

fn stands_alone(file: &File<'_>, function: &Node, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    let alone = |node: &&Node| {
        let path = node.kids.first().map(|callee| callee.path()).unwrap_or_default();
        match path.as_slice() {
            [name] if BUILTINS.contains(name) => true,
            [name] if file.language == Language::Java && name.starts_with("new ") => {
                MODULES.iter().any(|module| name.contains(module))
            }
            [name] => file
                .functions
                .get(*name)
                .is_some_and(|inner| std::ptr::eq(*inner, function) || stands_alone(file, inner, left)),
            [root, ..] if MODULES.contains(root) => true,
            [.., method] => METHODS.contains(method),
            [] => false,
        }
    };
    function.all().into_iter().filter(|node| node.kind == Kind::Call).all(|call| alone(&call))
}
