//! Supported languages: how to detect them from a file name, and which nodes of their trees are the functions and
//! members that contain a change.

use tree_sitter::Language as Grammar;

pub(super) struct Language {
    pub(super) grammar: Grammar,
    /// Nodes to show around a changed line: the innermost of these.
    functions: &'static [&'static str],
    /// Nodes to show around a changed line outside of those.
    items: &'static [&'static str],
}

/// Role of a node for a reader of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A function, a method, a member.
    Function,
    /// Another declaration.
    Item,
    /// A part of what follows it: a comment, an attribute.
    Prefix,
    /// A node around a function that starts before it: a decorator, `export`.
    Wrapper,
    /// Anything else.
    Other,
}

impl Language {
    /// Detects the language of a file from its name.
    pub(super) fn of(path: &str) -> Option<Self> {
        Self::of_ending(path.rsplit_once('.')?.1)
    }

    /// Returns the language for a file extension.
    pub(super) fn of_ending(ending: &str) -> Option<Self> {
        let language = match ending {
            "rs" => Self {
                grammar: tree_sitter_rust::LANGUAGE.into(),
                functions: &["function_item", "function_signature_item", "macro_definition"],
                items: &["struct_item", "enum_item", "union_item", "const_item", "static_item", "type_item"],
            },
            "ts" | "mts" | "cts" => Self::script(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()),
            // JavaScript is parsed as a subset of TypeScript.
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

    /// Returns the role of a kind of node.
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
