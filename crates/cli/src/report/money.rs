//! Costs and tokens in figures that people read.

use acquit_core::agent::Usage;

/// A cost, or that nobody told one.
pub fn cost(micros: Option<u64>) -> String {
    match micros {
        None => "no price".to_owned(),
        // Below a cent the cents say nothing.
        Some(micros) if micros < 10_000 && micros > 0 => {
            format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
        }
        Some(micros) => {
            let cents = micros.saturating_add(5_000) / 10_000;
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

/// The cost of a leg; empty if it used nothing.
pub fn usage_cost(usage: &Usage) -> String {
    if usage.is_empty() { String::new() } else { cost(usage.cost_micros) }
}

/// A number of tokens.
pub fn tokens(count: u64) -> String {
    match count {
        0 => String::new(),
        1..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
