//! The price table: pay-as-you-go prices of providers, without batch or off-peak discounts.

use super::{Of, Price};

/// Date of the table.
pub const AS_OF: &str = "2026-11-16";

/// The prices of a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    usual: Price,
    /// Prompt size in tokens above which other prices apply, and these prices.
    long: Option<(u64, Price)>,
}

impl Listed {
    /// Returns the prices for a prompt of this many tokens.
    pub(super) fn at(&self, prompt: u64, of: Of) -> Price {
        match (self.long, of) {
            (Some((above, price)), Of::Request) if prompt > above => price,
            _ => self.usual,
        }
    }
}

/// Finds a model by name.
pub(super) fn find(model: &str) -> Option<&'static Listed> {
    let place = MODELS.binary_search_by(|(name, _)| (*name).cmp(model)).ok()?;
    MODELS.get(place).map(|(_, listed)| listed)
}

const fn price(
    input: u64,
    output: u64,
    cache_read: Option<u64>,
    cache_write_5m: Option<u64>,
    cache_write_1h: Option<u64>,
) -> Price {
    Price { input, output, cache_read, cache_write_5m, cache_write_1h }
}

const fn listed(usual: Price) -> Listed {
    Listed { usual, long: None }
}

const fn tiered(usual: Price, above: u64, long: Price) -> Listed {
    Listed { usual, long: Some((above, long)) }
}

/// Sorted by name. Millionths of a dollar per million tokens: input, output, cache read, 5-minute cache write, 1-hour
/// cache write.
#[rustfmt::skip]
const MODELS: [(&str, Listed); 55] = [
    ("claude-fable-5", listed(price(10_000_000, 50_000_000, Some(1_000_000), Some(12_500_000), Some(20_000_000)))),
    ("claude-fable-5-1", listed(price(10_000_000, 50_000_000, Some(250_000), Some(12_500_000), Some(20_000_000)))),
    ("claude-haiku-4-5", listed(price(1_000_000, 5_000_000, Some(100_000), Some(1_250_000), Some(2_000_000)))),
    ("claude-haiku-5-5", tiered(price(100_000, 500_000, Some(10_000), Some(125_000), Some(200_000)), 100_000,
        price(500_000, 2_500_000, Some(50_000), Some(625_000), Some(1_000_000)))),
    ("claude-mythos-5", listed(price(10_000_000, 50_000_000, Some(1_000_000), Some(12_500_000), Some(20_000_000)))),
    ("claude-mythos-5-1", listed(price(10_000_000, 50_000_000, Some(250_000), Some(12_500_000), Some(20_000_000)))),
    ("claude-opus-4-5", listed(price(5_000_000, 25_000_000, Some(500_000), Some(6_250_000), Some(10_000_000)))),
    ("claude-opus-4-6", listed(price(5_000_000, 25_000_000, Some(500_000), Some(6_250_000), Some(10_000_000)))),
    ("claude-opus-4-7", listed(price(5_000_000, 25_000_000, Some(500_000), Some(6_250_000), Some(10_000_000)))),
    ("claude-opus-4-8", listed(price(5_000_000, 25_000_000, Some(500_000), Some(6_250_000), Some(10_000_000)))),
    ("claude-opus-5", listed(price(5_000_000, 25_000_000, Some(500_000), Some(6_250_000), Some(10_000_000)))),
    ("claude-opus-5-5", listed(price(4_000_000, 20_000_000, Some(200_000), Some(5_000_000), Some(8_000_000)))),
    ("claude-sonnet-4-5", listed(price(3_000_000, 15_000_000, Some(300_000), Some(3_750_000), Some(6_000_000)))),
    ("claude-sonnet-4-6", listed(price(3_000_000, 15_000_000, Some(300_000), Some(3_750_000), Some(6_000_000)))),
    ("claude-sonnet-5", listed(price(2_000_000, 10_000_000, Some(200_000), Some(2_500_000), Some(4_000_000)))),
    ("claude-sonnet-5-5", listed(price(2_000_000, 10_000_000, Some(100_000), Some(2_500_000), Some(4_000_000)))),
    ("gemini-2.5-flash", listed(price(300_000, 2_500_000, Some(30_000), None, None))),
    ("gemini-2.5-flash-lite", listed(price(100_000, 400_000, Some(10_000), None, None))),
    ("gemini-2.5-pro", tiered(price(1_250_000, 10_000_000, Some(125_000), None, None), 200_000,
        price(2_500_000, 15_000_000, Some(250_000), None, None))),
    ("gemini-3-flash-preview", listed(price(500_000, 3_000_000, Some(50_000), None, None))),
    ("gemini-3.1-flash-lite", listed(price(250_000, 1_500_000, Some(25_000), None, None))),
    ("gemini-3.1-pro-preview", tiered(price(2_000_000, 12_000_000, Some(200_000), None, None), 200_000,
        price(4_000_000, 18_000_000, Some(400_000), None, None))),
    ("gemini-3.5-flash", listed(price(1_500_000, 9_000_000, Some(150_000), None, None))),
    ("gemini-3.5-flash-lite", listed(price(300_000, 2_500_000, Some(30_000), None, None))),
    ("gemini-3.6-flash", listed(price(750_000, 3_750_000, Some(75_000), None, None))),
    ("gemini-3.7-flash", listed(price(750_000, 3_750_000, Some(75_000), None, None))),
    ("gemini-3.8-flash", listed(price(750_000, 3_750_000, Some(75_000), None, None))),
    ("gemini-4-argon", listed(price(2_000_000, 10_000_000, Some(100_000), None, None))),
    ("gpt-4.1", listed(price(2_000_000, 8_000_000, Some(500_000), None, None))),
    ("gpt-4.1-mini", listed(price(400_000, 1_600_000, Some(100_000), None, None))),
    ("gpt-5", listed(price(1_250_000, 10_000_000, Some(125_000), None, None))),
    ("gpt-5-codex", listed(price(1_250_000, 10_000_000, Some(125_000), None, None))),
    ("gpt-5-mini", listed(price(250_000, 2_000_000, Some(25_000), None, None))),
    ("gpt-5-nano", listed(price(50_000, 400_000, Some(5_000), None, None))),
    ("gpt-5-pro", listed(price(15_000_000, 120_000_000, None, None, None))),
    ("gpt-5.1", listed(price(1_250_000, 10_000_000, Some(125_000), None, None))),
    ("gpt-5.1-codex", listed(price(1_250_000, 10_000_000, Some(125_000), None, None))),
    ("gpt-5.1-codex-max", listed(price(1_250_000, 10_000_000, Some(125_000), None, None))),
    ("gpt-5.1-codex-mini", listed(price(250_000, 2_000_000, Some(25_000), None, None))),
    ("gpt-5.2", listed(price(1_750_000, 14_000_000, Some(175_000), None, None))),
    ("gpt-5.2-codex", listed(price(1_750_000, 14_000_000, Some(175_000), None, None))),
    ("gpt-5.2-pro", listed(price(21_000_000, 168_000_000, None, None, None))),
    ("gpt-5.3-codex", listed(price(1_750_000, 14_000_000, Some(175_000), None, None))),
    ("gpt-5.4", tiered(price(2_500_000, 15_000_000, Some(250_000), None, None), 272_000,
        price(5_000_000, 22_500_000, Some(500_000), None, None))),
    ("gpt-5.4-mini", listed(price(750_000, 4_500_000, Some(75_000), None, None))),
    ("gpt-5.4-nano", listed(price(200_000, 1_250_000, Some(20_000), None, None))),
    ("gpt-5.4-pro", tiered(price(30_000_000, 180_000_000, None, None, None), 272_000,
        price(60_000_000, 270_000_000, None, None, None))),
    ("gpt-5.5", tiered(price(5_000_000, 30_000_000, Some(500_000), None, None), 272_000,
        price(10_000_000, 45_000_000, Some(1_000_000), None, None))),
    ("gpt-5.5-pro", tiered(price(30_000_000, 180_000_000, None, None, None), 272_000,
        price(60_000_000, 270_000_000, None, None, None))),
    ("gpt-5.6", tiered(price(4_000_000, 20_000_000, Some(400_000), Some(5_000_000), None), 272_000,
        price(8_000_000, 30_000_000, Some(800_000), Some(10_000_000), None))),
    ("gpt-5.6-luna", tiered(price(200_000, 1_200_000, Some(20_000), Some(250_000), None), 272_000,
        price(400_000, 1_800_000, Some(40_000), Some(500_000), None))),
    ("gpt-5.6-sol", tiered(price(4_000_000, 20_000_000, Some(400_000), Some(5_000_000), None), 272_000,
        price(8_000_000, 30_000_000, Some(800_000), Some(10_000_000), None))),
    ("gpt-5.6-terra", tiered(price(2_000_000, 12_000_000, Some(200_000), Some(2_500_000), None), 272_000,
        price(4_000_000, 18_000_000, Some(400_000), Some(5_000_000), None))),
    ("o3", listed(price(2_000_000, 8_000_000, Some(500_000), None, None))),
    ("o4-mini", listed(price(1_100_000, 4_400_000, Some(275_000), None, None))),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_is_found() {
        assert!(MODELS.is_sorted_by(|(one, _), (other, _)| one < other));
        for (name, listed) in &MODELS {
            assert!(find(name).is_some(), "{name}");
            let prices = [Some(listed.usual), listed.long.map(|(_, price)| price)];
            for price in prices.into_iter().flatten() {
                assert!(price.input > 0 && price.output > price.input, "{name}");
                assert!(price.cache_read.is_none_or(|read| read < price.input), "{name}");
            }
        }
        assert!(find("no-model").is_none());
    }
}
