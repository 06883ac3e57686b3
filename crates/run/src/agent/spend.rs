//! Counts usage exactly once, however an agent reports it: as a total of the turn, a total of the conversation, or
//! message by message with a correction at the end.

use acquit_core::agent::{AgentEvent, Usage};
use acquit_core::config::Billing;
use acquit_core::price::{self, Of, Prices};

use super::Hearing;

/// Maximum number of models to count separately. Agents use two or three; output that names a new one each time is not
/// counted separately.
const MODELS: usize = 32;

/// Usage reported so far by model, so that only the difference is reported.
#[derive(Debug)]
pub(super) struct Spend {
    told: Vec<Usage>,
    prices: Prices,
    of: Of,
    by_login: bool,
}

impl Spend {
    /// Starts with no usage. `of` says what the agent reports.
    pub(super) fn new(hearing: &Hearing, of: Of) -> Self {
        let by_login = hearing.billing == Some(Billing::Login);
        Self { told: Vec::new(), prices: hearing.prices.clone(), of, by_login }
    }

    /// Records that a login pays from here on.
    pub(super) fn paid_by_login(&mut self) {
        self.by_login = true;
    }

    /// Reports additional usage.
    pub(super) fn add(&mut self, usage: Usage, said: &mut Vec<AgentEvent>) {
        let cost_micros = usage.cost_micros.filter(|cost| *cost > 0);
        // Do not report who pays for nothing.
        let bare = Usage { model: None, cost_micros, by_login: false, ..usage };
        if bare.is_empty() {
            return;
        }
        let mut usage = Usage { model: usage.model, cost_micros: usage.cost_micros, ..bare };
        usage.list_micros = price::cost(&usage, &self.prices, self.of);
        usage.unpriced = if usage.list_micros.is_none() { usage.tokens() } else { 0 };
        usage.by_login = self.by_login;
        if let Some(told) = self.of(usage.model.as_deref()) {
            told.add(&usage);
        }
        said.push(AgentEvent::Usage(usage));
    }

    /// Reports the difference to a total of one model. Does not subtract usage that was reported beyond it.
    pub(super) fn correct(&mut self, total: Usage, said: &mut Vec<AgentEvent>) {
        let Some(told) = self.of(total.model.as_deref()) else { return };
        let new = minus(&total, told);
        self.add(new, said);
    }

    /// Returns everything reported so far.
    pub(super) fn total(&self) -> Usage {
        self.told.iter().fold(Usage::default(), |mut total, told| {
            total.add(told);
            total
        })
    }

    /// Restarts counting from zero.
    pub(super) fn begin_anew(&mut self) {
        self.told.clear();
    }

    fn of(&mut self, model: Option<&str>) -> Option<&mut Usage> {
        let place = self.told.iter().position(|told| told.model.as_deref() == model);
        if place.is_none() && self.told.len() == MODELS {
            return None;
        }
        let place = place.unwrap_or_else(|| {
            self.told.push(Usage { model: model.map(str::to_owned), ..Usage::default() });
            self.told.len() - 1
        });
        self.told.get_mut(place)
    }
}

/// Returns the usage in `total` that is not in `before`.
pub(super) fn minus(total: &Usage, before: &Usage) -> Usage {
    Usage {
        model: total.model.clone(),
        input: total.input.saturating_sub(before.input),
        output: total.output.saturating_sub(before.output),
        cache_read: total.cache_read.saturating_sub(before.cache_read),
        cache_write_5m: total.cache_write_5m.saturating_sub(before.cache_write_5m),
        cache_write_1h: total.cache_write_1h.saturating_sub(before.cache_write_1h),
        cost_micros: total.cost_micros.map(|cost| cost.saturating_sub(before.cost_micros.unwrap_or(0))),
        ..Usage::default()
    }
}

/// Converts dollars to millionths. Costs come as floating point; `None` if the value is not a plausible cost.
pub(super) fn micros(dollars: f64) -> Option<u64> {
    /// No leg costs more, so a larger value is not a price.
    const MOST: f64 = 1_000_000.0;
    if !(0.0..=MOST).contains(&dollars) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10^12")]
    let micros = (dollars * 1_000_000.0).round() as u64;
    Some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_says_only_what_is_new() {
        let hearing = Hearing {
            before: Usage::default(),
            model: None,
            structured: false,
            billing: Some(Billing::Login),
            prices: Prices::new(),
            now: || acquit_core::time::Timestamp(0),
        };
        let (mut spend, mut said) = (Spend::new(&hearing, Of::Request), Vec::new());
        let usage = |input, output| Usage {
            model: Some("m".into()),
            input,
            output,
            unpriced: input + output,
            by_login: true,
            ..Usage::default()
        };
        spend.add(usage(10, 1), &mut said);
        spend.add(usage(0, 0), &mut said);
        spend.correct(usage(10, 50), &mut said);
        spend.correct(usage(10, 50), &mut said);
        spend.correct(usage(5, 5), &mut said);
        assert_eq!(said, [AgentEvent::Usage(usage(10, 1)), AgentEvent::Usage(usage(0, 49))]);
    }

    #[test]
    fn dollars_become_whole_millionths() {
        assert_eq!(micros(0.020_925_000_000_000_003), Some(20_925));
        assert_eq!(micros(0.0), Some(0));
        for bad in [-0.1, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(micros(bad), None);
        }
    }
}
