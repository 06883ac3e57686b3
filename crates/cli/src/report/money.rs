//! Formats costs and token counts.

use acquit_core::agent::Usage;
use acquit_core::price::{AS_OF, dollars};

/// Formats a cost, or says that there is no price.
pub fn cost(micros: Option<u64>) -> String {
    match micros {
        None => "no price".to_owned(),
        // Show fractions of a cent below one cent.
        Some(micros) if micros < 10_000 && micros > 0 => {
            format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
        }
        Some(micros) => dollars(micros),
    }
}

/// Formats the cost of usage: the agent's figure, plus our price list's for usage without one (`≈`, and `+` if part
/// of it has no price). Empty if nothing was used.
pub fn usage_cost(usage: &Usage) -> String {
    if usage.is_empty() {
        return String::new();
    }
    if usage.estimated() == 0 {
        return cost(usage.cost_micros);
    }
    let more = if usage.unpriced > 0 { "+" } else { "" };
    format!("≈{}{more}", cost(usage.paid()))
}

/// Returns notes on a cost: where the figure comes from, and who pays.
pub fn remarks(usage: &Usage) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(list) = usage.list_micros {
        let rest = match usage.unpriced {
            0 => String::new(),
            count => format!("; {} tokens have no price there", tokens(count)),
        };
        remarks.push(format!("by the list of {AS_OF}: {}{rest}", cost(Some(list))));
    } else if usage.unpriced > 0 && usage.cost_micros.is_some() {
        remarks.push(format!("by the list of {AS_OF}: no price"));
    }
    if usage.by_login {
        remarks.push("API-equivalent: a login pays, and this is what a key would have paid".to_owned());
    }
    remarks
}

/// Formats a number of tokens.
pub fn tokens(count: u64) -> String {
    match count {
        0 => String::new(),
        1..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_says_whose_figure_it_is() {
        let usage = Usage { input: 5_000, ..Usage::default() };
        assert_eq!(usage_cost(&Usage::default()), "");
        assert_eq!(usage_cost(&usage), "no price");
        let listed = Usage { list_micros: Some(2_500_000), ..usage.clone() };
        assert_eq!(usage_cost(&listed), "≈$2.50");
        assert_eq!(usage_cost(&Usage { unpriced: 7, ..listed.clone() }), "≈$2.50+");
        assert_eq!(usage_cost(&Usage { cost_micros: Some(3_000_000), ..listed.clone() }), "$3.00");
        let both = Usage { cost_micros: Some(3_000_000), unpriced: 1_500, by_login: true, ..listed };
        assert_eq!(
            remarks(&both),
            [
                format!("by the list of {AS_OF}: $2.50; 1.5k tokens have no price there"),
                "API-equivalent: a login pays, and this is what a key would have paid".to_owned()
            ]
        );
        assert_eq!(remarks(&usage), [""; 0]);
    }
}
