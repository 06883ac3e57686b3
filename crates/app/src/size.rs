//! Human-readable sizes.

/// Formats a size in the largest suitable unit: `512 B`, `3.4 MiB`, `12 GiB`.
pub fn shown(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    if tenths < 100 {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    } else {
        format!("{} {}", tenths / 10, UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_have_two_figures_at_least_and_a_unit() {
        let shown = [0, 1023, 1024, 1536, 20_000, 5 << 20, 999 << 30, 3 << 40].map(super::shown);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "19 KiB", "5.0 MiB", "999 GiB", "3.0 TiB"]);
    }
}
