//! Token prices from the providers' lists, to compare agents and to price those that report no cost.
//!
//! The table is dated ([`AS_OF`]); `[prices]` in the configuration overrides it. A model in neither has no price, which
//! is not the same as costing nothing. The same holds for a token bucket without a price: no bucket's price is derived
//! from another's. Prices for long prompts apply only if the usage of a single request is known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::Usage;

mod table;

pub use table::AS_OF;

/// The prices of one model, in millionths of a dollar per million tokens: 3 dollars are `3_000_000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Uncached input.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Cache read.
    #[serde(default)]
    pub cache_read: Option<u64>,
    /// Write to a 5-minute cache.
    #[serde(default)]
    pub cache_write_5m: Option<u64>,
    /// Write to a 1-hour cache.
    #[serde(default)]
    pub cache_write_1h: Option<u64>,
}

/// The user's own prices, by model.
pub type Prices = BTreeMap<String, Price>;

/// The scope of a usage record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// One request, so the prompt length is known.
    Request,
    /// Several requests, or a part of one.
    Turn,
}

/// Returns the list price of this usage, if every bucket of it has a price.
pub fn cost(usage: &Usage, own: &Prices, of: Of) -> Option<u64> {
    let model = usage.model.as_deref()?;
    let price = match own.get(model).or_else(|| own.get(plain(model))) {
        Some(price) => *price,
        None => table::find(plain(model))?.at(prompt(usage), of),
    };
    price.cost(usage)
}

/// Returns whether a model has a price.
pub fn is_known(model: &str, own: &Prices) -> bool {
    own.contains_key(model) || own.contains_key(plain(model)) || table::find(plain(model)).is_some()
}

/// Formats an amount in dollars and cents.
pub fn dollars(micros: u64) -> String {
    let cents = micros.saturating_add(5_000) / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Returns the number of input tokens.
fn prompt(usage: &Usage) -> u64 {
    [usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h]
        .into_iter()
        .fold(0, u64::saturating_add)
}

impl Price {
    fn cost(&self, usage: &Usage) -> Option<u64> {
        let buckets = [
            (usage.input, Some(self.input)),
            (usage.output, Some(self.output)),
            (usage.cache_read, self.cache_read),
            (usage.cache_write_5m, self.cache_write_5m),
            (usage.cache_write_1h, self.cache_write_1h),
        ];
        let mut total: u128 = 0;
        for (tokens, price) in buckets {
            if tokens > 0 {
                total = total.saturating_add(u128::from(tokens) * u128::from(price?));
            }
        }
        Some(u64::try_from((total + 500_000) / 1_000_000).unwrap_or(u64::MAX))
    }
}

/// Returns a model's name as in the table: without provider, release date and bracketed suffix.
fn plain(model: &str) -> &str {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.split(['[', '@', ':']).next().unwrap_or(name);
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    if let Some((front, date)) = name.rsplit_once('-') {
        if digits(date, 8) {
            return front;
        }
        // `-2025-08-07`
        let mut parts = name.rsplitn(4, '-');
        if let (Some(day), Some(month), Some(year), Some(front)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
            && digits(day, 2)
            && digits(month, 2)
            && digits(year, 4)
        {
            return front;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(model: &str) -> Usage {
        Usage {
            model: Some(model.to_owned()),
            input: 1_000,
            output: 50,
            cache_read: 200,
            cache_write_5m: 100,
            ..Usage::default()
        }
    }

    #[test]
    fn the_list_agrees_with_what_an_agent_told() {
        // The same usage in a recording of Claude Code reports 0.004185.
        assert_eq!(cost(&usage("claude-sonnet-4-5"), &Prices::new(), Of::Request), Some(4_185));
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        assert_eq!(cost(&usage("fake-model"), &Prices::new(), Of::Request), None);
        assert_eq!(cost(&Usage { model: None, ..usage("x") }, &Prices::new(), Of::Request), None);
    }

    #[test]
    fn a_bucket_without_a_price_is_not_guessed() {
        let own = |cache_write_5m| {
            let price =
                Price { input: 1, output: 1, cache_read: Some(1), cache_write_5m, cache_write_1h: None };
            Prices::from([("mine".to_owned(), price)])
        };
        assert_eq!(cost(&usage("mine"), &own(None), Of::Turn), None);
        assert_eq!(cost(&usage("mine"), &own(Some(1)), Of::Turn), Some(0));
        let hour = Usage { cache_write_1h: 1, ..usage("claude-sonnet-4-5") };
        assert_eq!(cost(&hour, &Prices::new(), Of::Request), Some(4_191));
    }

    #[test]
    fn names_are_found_with_provider_date_and_remark() {
        for name in [
            "anthropic/claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5[1m]",
            "openrouter/anthropic/claude-sonnet-4-5@20250929",
        ] {
            assert_eq!(cost(&usage(name), &Prices::new(), Of::Request), Some(4_185), "{name}");
        }
        assert_eq!(plain("gpt-5-2025-08-07"), "gpt-5");
        assert_eq!(plain("o3"), "o3");
        assert_eq!(plain("-"), "-");
    }

    #[test]
    fn a_long_prompt_costs_more_only_where_it_is_known_to_be_one() {
        let long =
            Usage { model: Some("gemini-2.5-pro".into()), input: 300_000, output: 10, ..Usage::default() };
        assert_eq!(cost(&long, &Prices::new(), Of::Request), Some(750_150));
        assert_eq!(cost(&long, &Prices::new(), Of::Turn), Some(375_100));
    }

    #[test]
    fn no_number_of_tokens_overflows() {
        let all = u64::MAX;
        let huge = Usage { input: all, output: all, cache_read: all, ..usage("claude-opus-4-5") };
        assert_eq!(cost(&huge, &Prices::new(), Of::Request), Some(u64::MAX));
    }
}
