//! Parameters of helper functions that assert for tests: a fact about a parameter is a fact about the test's argument.

use std::collections::HashMap;

use super::super::super::ir::Node;
use super::super::facts::Fact;
use super::Walk;

/// The argument behind a parameter.
#[derive(Clone)]
pub(super) struct Given {
    text: String,
    about: Vec<String>,
    is_constant: bool,
}

impl Walk<'_, '_, '_> {
    /// Returns the arguments of a function's parameters in a call.
    pub(super) fn given(&self, function: &Node, args: &[Node]) -> HashMap<String, Given> {
        let params = function.function().map(|function| function.params.clone()).unwrap_or_default();
        let own =
            |param: &String| !matches!(param.trim_start_matches(['&', '*']), "self" | "cls" | "mut self");
        let outer = self.given.last();
        let of = |arg: &Node| {
            let known = outer.and_then(|outer| outer.get(&arg.text())).cloned();
            known.unwrap_or_else(|| Given {
                text: self.scope.resolved(arg),
                about: self.scope.about(arg),
                is_constant: self.scope.is_constant(arg),
            })
        };
        params.into_iter().filter(own).zip(args.iter().map(of)).collect()
    }

    /// Converts a fact about parameters into one about their arguments.
    pub(super) fn filled_in(&self, fact: Fact) -> Fact {
        let (Some(given), Fact::Live { subject, about, expected, strength }) = (self.given.last(), &fact)
        else {
            return fact;
        };
        let (real, value) = (given.get(subject), expected.as_ref().and_then(|name| given.get(name)));
        if real.is_some_and(|real| real.is_constant) && value.is_some_and(|value| value.is_constant) {
            return Fact::Dead("it compares constants".to_owned());
        }
        let mut names: Vec<String> = about
            .iter()
            .flat_map(|name| given.get(name).map_or_else(|| vec![name.clone()], |given| given.about.clone()))
            .collect();
        names.sort();
        names.dedup();
        Fact::Live {
            subject: real.map_or_else(|| subject.clone(), |real| real.text.clone()),
            about: names,
            expected: value.map(|value| value.text.clone()).or_else(|| expected.clone()),
            strength: *strength,
        }
    }
}
