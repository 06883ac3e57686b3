//! The languages whose files are understood: how a file is told to be one, and which nodes of its tree are the functions and
//! members that a change stands in.

use tree_sitter::Language as Grammar;

/// A language.
pub(super) struct Language {
    pub(super) grammar: Grammar,
    /// What is shown around a changed line: the innermost of these.
    functions: &'static [&'static str],
    /// What is shown around one that stands in none of those.
    items: &'static [&'static str],
}

/// What a node is to somebody who reads a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A function, a method, a member.
    Function,
    /// Another declaration.
    Item,
    /// Something that belongs to what comes right after it: a comment, an attribute.
    Prefix,
    /// Something around a function that begins before it: a decorator, `export`.
    Wrapper,
    /// Anything else.
    Other,
}

impl Language {
    /// The language of a file, by its name.
    pub(super) fn of(path: &str) -> Option<Self> {
        Self::of_ending(path.rsplit_once('.')?.1)
    }

    /// The language of files that end so.
    pub(super) fn of_ending(ending: &str) -> Option<Self> {
        let language = match ending {
            "rs" => Self {
                grammar: tree_sitter_rust::LANGUAGE.into(),
                functions: &["function_item", "function_signature_item", "macro_definition"],
                items: &["struct_item", "enum_item", "union_item", "const_item", "static_item", "type_item"],
            },
            "ts" | "mts" | "cts" => Self::script(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()),
            // JavaScript is understood as the part of TypeScript that it is.
            "tsx" | "jsx" | "js" | "mjs" | "cjs" => Self::script(tree_sitter_typescript::LANGUAGE_TSX.into()),
            "py" | "pyi" => Self {
                grammar: tree_sitter_python::LANGUAGE.into(),
                functions: &["function_definition"],
                items: &["expression_statement"],
            },
            "go" => Self {
                grammar: tree_sitter_go::LANGUAGE.into(),
                functions: &["function_declaration", "method_declaration"],
                items: &["type_declaration", "const_declaration", "var_declaration"],
            },
            "java" => Self {
                grammar: tree_sitter_java::LANGUAGE.into(),
                functions: &[
                    "method_declaration",
                    "constructor_declaration",
                    "compact_constructor_declaration",
                    "static_initializer",
                ],
                items: &["field_declaration", "enum_constant", "annotation_type_element_declaration"],
            },
            _ => return None,
        };
        Some(language)
    }

    fn script(grammar: Grammar) -> Self {
        Self {
            grammar,
            functions: &[
                "function_declaration",
                "generator_function_declaration",
                "method_definition",
                "public_field_definition",
            ],
            items: &[
                "lexical_declaration",
                "variable_declaration",
                "interface_declaration",
                "type_alias_declaration",
                "enum_declaration",
            ],
        }
    }

    /// What a kind of node is.
    pub(super) fn part(&self, kind: &str) -> Part {
        match kind {
            kind if self.functions.contains(&kind) => Part::Function,
            kind if self.items.contains(&kind) => Part::Item,
            "comment" | "line_comment" | "block_comment" | "attribute_item" | "decorator" => Part::Prefix,
            "decorated_definition" | "export_statement" => Part::Wrapper,
            _ => Part::Other,
        }
    }
}
