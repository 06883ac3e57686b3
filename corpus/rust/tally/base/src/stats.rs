//! Figures of many values.

/// The mean, or nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// The middle value.
pub fn median(values: &[i64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2] as f64
}

/// How many values are in each class of the given width.
pub fn histogram(values: &[i64], width: i64) -> Vec<(i64, usize)> {
    let mut classes = std::collections::BTreeMap::new();
    for value in values {
        *classes.entry(value / width * width).or_insert(0) += 1;
    }
    classes.into_iter().collect()
}
