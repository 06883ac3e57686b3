//! Lowers the trees of the grammars to [`Node`]s.
//!
//! One table serves all languages: where two grammars use the same name for a node, they mean the same.

use std::rc::Rc;
use std::time::Instant;

use tree_sitter::Node as Tree;

use super::ir::{Function, Kind, Literal, Node};

mod parts;

/// Maximum nesting depth of a file. Deeper files were not written by hand and are not read.
const DEEPEST: usize = 250;
/// Input and limits of lowering.
pub(super) struct Lower<'a> {
    source: Rc<str>,
    ending: &'a str,
    /// The line before the first one of `source`.
    above: u32,
    /// Number of macros that enclose `source`.
    macros: usize,
    until: Instant,
}

impl<'a> Lower<'a> {
    pub(super) fn new(source: &str, ending: &'a str, until: Instant) -> Self {
        Self { source: source.into(), ending, above: 0, macros: 0, until }
    }

    /// Lowers a whole tree. `None` if it is too deep or takes too long.
    pub(super) fn root(&self, tree: Tree<'_>) -> Option<Node> {
        self.node(tree, 0)
    }

    fn make(&self, kind: Kind, tree: Tree<'_>) -> Node {
        let line = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX).saturating_add(self.above);
        let end = tree.end_position();
        let last = if end.column == 0 && end.row > tree.start_position().row { end.row - 1 } else { end.row };
        Node::new(kind, (line(tree.start_position().row), line(last)), &self.source, tree.byte_range())
    }

    fn text(&self, tree: Tree<'_>) -> String {
        self.source.get(tree.byte_range()).unwrap_or_default().to_owned()
    }

    #[expect(clippy::option_option, reason = "there is no such field, or it is too deep")]
    fn field(&self, tree: Tree<'_>, name: &str, depth: usize) -> Option<Option<Node>> {
        match tree.child_by_field_name(name) {
            Some(child) => self.node(child, depth + 1).map(Some),
            None => Some(None),
        }
    }

    fn kids(&self, tree: Tree<'_>, depth: usize) -> Option<Vec<Node>> {
        let mut kids = Vec::new();
        let mut marks: Vec<Node> = Vec::new();
        let mut cursor = tree.walk();
        for child in tree.named_children(&mut cursor) {
            // Rust attributes precede the item they belong to.
            if child.kind() == "attribute_item" {
                marks.push(self.attribute(child));
                continue;
            }
            let mut node = self.node(child, depth + 1)?;
            if node.kind != Kind::Comment {
                node.marks.append(&mut marks);
            }
            kids.push(node);
        }
        Some(kids)
    }

    /// Lowers an attribute to a node without children, because its text says everything.
    fn attribute(&self, tree: Tree<'_>) -> Node {
        self.make(Kind::Other, tree)
    }

    #[expect(clippy::too_many_lines, reason = "one table; each arm is a line or two")]
    fn node(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        if depth > DEEPEST || Instant::now() >= self.until {
            return None;
        }
        let field = |name: &str| self.field(tree, name, depth);
        let with = |kind: Kind, names: &[&str]| -> Option<Node> {
            let mut node = self.make(kind, tree);
            for name in names {
                node.kids.extend(field(name)?);
            }
            Some(node)
        };
        let all = |kind: Kind| -> Option<Node> {
            let mut node = self.make(kind, tree);
            node.kids = self.kids(tree, depth)?;
            Some(node)
        };
        let node = match tree.kind() {
            "comment" | "line_comment" | "block_comment" => self.make(Kind::Comment, tree),
            // Wrappers without a separate meaning.
            "parenthesized_expression"
            | "as_expression"
            | "non_null_expression"
            | "satisfies_expression"
            | "as_pattern"
            | "with_item"
            | "with_clause"
            | "reference_expression"
            | "try_expression"
            | "literal_element"
            | "expression_list"
            | "spread_element"
            | "list_splat"
            | "argument"
            | "match_block"
            | "switch_body"
            | "switch_block"
                if tree.named_child_count() == 1 =>
            {
                return self.node(tree.named_child(0)?, depth + 1);
            }
            "type_cast_expression" | "cast_expression" => {
                return self.node(tree.child_by_field_name("value")?, depth + 1);
            }
            "expression_statement" => {
                // `x = 1;`, and the last expression of a Rust function.
                let inner = tree.named_child(0).filter(|_| tree.named_child_count() == 1);
                match inner.map(|inner| self.node(inner, depth + 1)) {
                    Some(inner) => {
                        let inner = inner?;
                        if matches!(
                            inner.kind,
                            Kind::Call | Kind::Member(_) | Kind::Name(_) | Kind::Binary(_) | Kind::List
                        ) {
                            let mut node = self.make(Kind::Statement, tree);
                            node.kids.push(inner);
                            node
                        } else {
                            inner
                        }
                    }
                    None => all(Kind::Statement)?,
                }
            }
            "if_statement" | "if_expression" | "elif_clause" | "ternary_expression" => {
                self.condition(tree, depth)?
            }
            "conditional_expression" => {
                // Python: `a if condition else b`.
                let mut node = self.make(Kind::If, tree);
                let mut kids = self.kids(tree, depth)?;
                if kids.len() == 3 {
                    kids.swap(0, 1);
                }
                node.kids = kids;
                node
            }
            "else_clause" if tree.child_by_field_name("body").is_none() => all(Kind::Block)?,
            "else_clause" => return self.node(tree.child_by_field_name("body")?, depth + 1),
            "for_statement"
            | "for_expression"
            | "enhanced_for_statement"
            | "for_in_statement"
            | "while_statement"
            | "while_expression"
            | "loop_expression"
            | "do_statement" => self.repeat(tree, depth)?,
            "try_statement" | "try_with_resources_statement" => all(Kind::Try)?,
            "except_clause" | "except_group_clause" | "catch_clause" => self.handler(tree, depth)?,
            "with_statement" => all(Kind::With)?,
            "match_expression"
            | "switch_statement"
            | "switch_expression"
            | "match_statement"
            | "expression_switch_statement"
            | "type_switch_statement"
            | "select_statement" => {
                let mut node = self.make(Kind::Match, tree);
                self.arms(tree, depth, &mut node.kids)?;
                node
            }
            "function_definition"
            | "function_declaration"
            | "method_declaration"
            | "function_item"
            | "method_definition"
            | "arrow_function"
            | "function_expression"
            | "generator_function"
            | "generator_function_declaration"
            | "lambda"
            | "lambda_expression"
            | "closure_expression"
            | "func_literal"
            | "constructor_declaration" => self.function(tree, depth)?,
            "decorated_definition" => {
                let mut node = self.node(tree.child_by_field_name("definition")?, depth + 1)?;
                let mut cursor = tree.walk();
                for child in tree.named_children(&mut cursor).filter(|child| child.kind() == "decorator") {
                    node.marks.push(self.node(child.named_child(0)?, depth + 1)?);
                }
                node
            }
            "class_definition"
            | "class_declaration"
            | "abstract_class_declaration"
            | "mod_item"
            | "impl_item"
            | "record_declaration"
            | "class"
            | "trait_item" => self.class(tree, depth)?,
            "return_statement" | "return_expression" => all(Kind::Return)?,
            "raise_statement" | "throw_statement" => all(Kind::Throw)?,
            "break_statement" | "continue_statement" | "break_expression" | "continue_expression" => {
                self.make(Kind::Jump, tree)
            }
            "assert_statement" => all(Kind::Assert)?,
            "delete_statement" => {
                let name = tree.named_child(0).map(|name| self.text(name)).unwrap_or_default();
                self.make(Kind::Assign(name), tree)
            }
            "assignment"
            | "assignment_expression"
            | "assignment_statement"
            | "short_var_declaration"
            | "let_declaration"
            | "variable_declarator"
            | "augmented_assignment"
            | "augmented_assignment_expression"
            | "compound_assignment_expr"
            | "named_expression"
            | "var_spec"
            | "const_spec"
            | "static_item"
            | "const_item"
            | "public_field_definition" => self.assign(tree, depth)?,
            "update_expression" | "inc_statement" | "dec_statement" => {
                let name = tree.named_child(0).map(|name| self.text(name)).unwrap_or_default();
                self.make(Kind::Assign(name), tree)
            }
            "aliased_import" | "import_specifier" | "use_as_clause" | "import_spec" => self.import(tree),
            "call"
            | "call_expression"
            | "method_invocation"
            | "new_expression"
            | "object_creation_expression" => self.call(tree, depth)?,
            "macro_invocation" => self.invocation(tree, depth)?,
            "attribute"
            | "member_expression"
            | "field_expression"
            | "selector_expression"
            | "field_access"
            | "scoped_identifier" => self.member(tree, depth)?,
            "identifier"
            | "property_identifier"
            | "shorthand_property_identifier"
            | "self"
            | "this"
            | "super"
            | "field_identifier"
            | "type_identifier"
            | "package_identifier"
            | "scoped_type_identifier" => self.make(Kind::Name(self.text(tree)), tree),
            "array_creation_expression" if tree.child_by_field_name("value").is_some() => {
                return self.node(tree.child_by_field_name("value")?, depth + 1);
            }
            "generic_function" => return self.node(tree.child_by_field_name("function")?, depth + 1),
            "true" => self.make(Kind::Literal(Literal::True), tree),
            "false" => self.make(Kind::Literal(Literal::False), tree),
            "boolean_literal" => {
                let truth = if self.text(tree) == "true" { Literal::True } else { Literal::False };
                self.make(Kind::Literal(truth), tree)
            }
            "none" | "null" | "nil" | "null_literal" | "undefined" => {
                self.make(Kind::Literal(Literal::None), tree)
            }
            "integer"
            | "float"
            | "number"
            | "integer_literal"
            | "float_literal"
            | "int_literal"
            | "decimal_integer_literal"
            | "decimal_floating_point_literal"
            | "hex_integer_literal"
            | "octal_integer_literal"
            | "binary_integer_literal"
            | "hex_floating_point_literal"
            | "imaginary_literal" => self.make(Kind::Literal(Literal::Number), tree),
            "string"
            | "string_literal"
            | "template_string"
            | "raw_string_literal"
            | "interpreted_string_literal"
            | "char_literal"
            | "rune_literal"
            | "character_literal"
            | "concatenated_string" => {
                let inner = self.kids(tree, depth)?;
                let plain = !inner.iter().any(|kid| kid.any(&|node| matches!(node.kind, Kind::Name(_))));
                let mut node =
                    self.make(if plain { Kind::Literal(Literal::Text) } else { Kind::Other }, tree);
                if !plain {
                    node.kids = inner;
                }
                node
            }
            "list"
            | "tuple"
            | "set"
            | "dictionary"
            | "array"
            | "object"
            | "array_expression"
            | "tuple_expression"
            | "composite_literal"
            | "literal_value"
            | "array_initializer"
            | "element_value_array_initializer" => self.list(tree, depth)?,
            "pair" | "keyed_element" | "element_value_pair" => {
                let key = tree.child_by_field_name("key").or_else(|| tree.named_child(0));
                let key = key.map(|key| self.text(key)).unwrap_or_default();
                let mut node = self.make(Kind::Pair(key.trim_matches(['"', '\'']).to_owned()), tree);
                let value = tree.child_by_field_name("value").or_else(|| tree.named_child(1));
                if let Some(value) = value {
                    node.kids.push(self.node(value, depth + 1)?);
                }
                node
            }
            "keyword_argument" => {
                let key = tree.child_by_field_name("name").map(|name| self.text(name)).unwrap_or_default();
                with(Kind::Pair(key), &["value"])?
            }
            "binary_expression" | "boolean_operator" | "binary_operator" => {
                let sign = tree.child_by_field_name("operator").map(|sign| self.text(sign));
                with(Kind::Binary(sign.unwrap_or_default()), &["left", "right"])?
            }
            "instanceof_expression" => with(Kind::Binary("instanceof".to_owned()), &["left", "right"])?,
            "comparison_operator" => self.comparison(tree, depth)?,
            "not_operator" => with(Kind::Unary("not".to_owned()), &["argument"])?,
            "unary_expression" | "unary_operator" => {
                let mut sign: String = self.text(tree).chars().take_while(|c| !c.is_alphanumeric()).collect();
                if sign.is_empty() {
                    sign = self.text(tree).split_whitespace().next().unwrap_or_default().to_owned();
                }
                let sign = sign.trim_end_matches(['(', ' ', '"', '\'', '[', '{']).to_owned();
                all(Kind::Unary(sign))?
            }
            "await" | "await_expression" => all(Kind::Await)?,
            "finally_clause" | "block" | "statement_block" | "class_body" | "declaration_list" | "module"
            | "program" | "source_file" | "statement_list" => all(Kind::Block)?,
            _ => all(Kind::Other)?,
        };
        Some(node)
    }

    fn condition(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let mut node = self.make(Kind::If, tree);
        let mut before = None;
        if let Some(initializer) = tree.child_by_field_name("initializer") {
            before = Some(self.node(initializer, depth + 1)?);
        }
        node.kids.extend(self.field(tree, "condition", depth)?);
        node.kids.extend(self.field(tree, "consequence", depth)?);
        // Python has several alternatives: `elif` and `else`, each of which is the else of the previous one.
        let mut cursor = tree.walk();
        let others: Vec<Tree<'_>> = tree.children_by_field_name("alternative", &mut cursor).collect();
        let mut otherwise: Option<Node> = None;
        for other in others.into_iter().rev() {
            let mut lowered = self.node(other, depth + 1)?;
            if lowered.kind == Kind::If && lowered.kids.len() == 2 {
                lowered.kids.extend(otherwise.take());
            }
            otherwise = Some(lowered);
        }
        node.kids.extend(otherwise);
        match before {
            None => Some(node),
            // Go: `if err := f(); err != nil`.
            Some(before) => {
                let mut block = self.make(Kind::Block, tree);
                block.kids = vec![before, node];
                Some(block)
            }
        }
    }

    fn repeat(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let mut node = self.make(Kind::Loop, tree);
        let over = ["right", "value", "condition"].iter().find_map(|name| tree.child_by_field_name(name));
        // Go: `for _, x := range xs`, with its own clause.
        let clause =
            tree.named_child(0).filter(|child| matches!(child.kind(), "range_clause" | "for_clause"));
        let over = over.or_else(|| clause.and_then(|clause| clause.child_by_field_name("right")));
        node.kids.push(match over {
            Some(over) => self.node(over, depth + 1)?,
            None => self.make(Kind::Other, tree.named_child(0).unwrap_or(tree)),
        });
        node.kids.extend(self.field(tree, "body", depth)?);
        node.kids.extend(self.field(tree, "alternative", depth)?);
        Some(node)
    }

    fn handler(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let kids = self.kids(tree, depth)?;
        let body = kids.iter().rposition(|kid| kid.kind == Kind::Block);
        let body_tree = tree.child_by_field_name("body");
        let end = body_tree.map_or(tree.end_byte(), |body| body.start_byte());
        let what = self.source.get(tree.start_byte()..end).unwrap_or_default();
        let what = match (body, body_tree) {
            // Python's clause has no field for its body.
            (Some(_), None) => what.split(':').next().unwrap_or_default(),
            _ => what,
        };
        let mut node = self.make(Kind::Handler(what.trim().to_owned()), tree);
        node.kids = kids;
        Some(node)
    }

    /// Collects the arms of a choice, wherever the grammar puts them.
    fn arms(&self, tree: Tree<'_>, depth: usize, arms: &mut Vec<Node>) -> Option<()> {
        let mut cursor = tree.walk();
        for child in tree.named_children(&mut cursor) {
            match child.kind() {
                "match_block" | "switch_body" | "switch_block" | "block" => {
                    self.arms(child, depth + 1, arms)?;
                }
                "match_arm"
                | "switch_case"
                | "switch_default"
                | "switch_rule"
                | "switch_block_statement_group"
                | "case_clause"
                | "expression_case"
                | "default_case"
                | "type_case"
                | "communication_case" => {
                    let mut arm = self.make(Kind::Block, child);
                    arm.kids =
                        match child.child_by_field_name("value").filter(|_| child.kind() == "match_arm") {
                            Some(value) => vec![self.node(value, depth + 1)?],
                            None => self.kids(child, depth + 1)?,
                        };
                    arms.push(arm);
                }
                _ => {}
            }
        }
        Some(())
    }

    fn function(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let name = tree.child_by_field_name("name").map(|name| self.text(name)).unwrap_or_default();
        let list = tree.child_by_field_name("parameters").or_else(|| tree.child_by_field_name("parameter"));
        let mut params = Vec::new();
        if let Some(list) = list {
            let mut cursor = list.walk();
            let named: Vec<Tree<'_>> = list.named_children(&mut cursor).collect();
            if named.is_empty() && list.kind().ends_with("identifier") {
                params.push(self.text(list));
            }
            for param in named {
                // Go: `got, want int` is one declaration of two names.
                let mut cursor = param.walk();
                let several: Vec<Tree<'_>> = param.children_by_field_name("name", &mut cursor).collect();
                if several.len() > 1 {
                    params.extend(several.into_iter().map(|name| self.text(name)));
                    continue;
                }
                let name = param
                    .child_by_field_name("name")
                    .or_else(|| param.child_by_field_name("pattern"))
                    .unwrap_or(param);
                params.push(self.text(name));
            }
        }
        let head = tree.child_by_field_name("body").map_or(tree.end_byte(), |body| body.start_byte());
        let head = self.source.get(tree.start_byte()..head).unwrap_or_default();
        let is_async =
            head.split(['(', '=', '|']).next().unwrap_or_default().split_whitespace().any(|w| w == "async");
        let mut node = self.make(Kind::Function(Function { name, params, is_async }), tree);
        if let Some(body) = tree.child_by_field_name("body") {
            let lowered = self.node(body, depth + 1)?;
            node.kids.push(if lowered.kind == Kind::Block || lowered.kind == Kind::If {
                lowered
            } else {
                // `() => value` returns its value.
                let mut returned = self.make(Kind::Return, body);
                returned.kids.push(lowered);
                returned
            });
        }
        self.modifiers(tree, depth, &mut node)?;
        Some(node)
    }

    /// Java's annotations and other modifiers of a declaration; decorators of scripts.
    fn modifiers(&self, tree: Tree<'_>, depth: usize, node: &mut Node) -> Option<()> {
        let mut cursor = tree.walk();
        for child in tree.named_children(&mut cursor).filter(|child| child.kind() == "modifiers") {
            node.marks.push(self.make(Kind::Other, child));
            let mut inner = child.walk();
            for mark in child.named_children(&mut inner) {
                let mut lowered = self.make(Kind::Pair(self.text(mark)), mark);
                lowered.kids = self.kids(mark, depth + 1)?;
                node.marks.push(lowered);
            }
        }
        Some(())
    }

    fn class(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let name = tree.child_by_field_name("name").or_else(|| tree.child_by_field_name("type"));
        let name = name.map(|name| self.text(name)).unwrap_or_default();
        let bases =
            tree.child_by_field_name("superclasses").or_else(|| tree.child_by_field_name("superclass"));
        let bases = bases.map(|bases| self.text(bases)).unwrap_or_default();
        let mut node = self.make(Kind::Class(name, bases), tree);
        node.kids.extend(self.field(tree, "body", depth)?);
        self.modifiers(tree, depth, &mut node)?;
        Some(node)
    }
}
