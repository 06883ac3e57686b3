//! Selects the next migration. A store's version is the number of migrations it has applied. Each migration is one
//! transaction that reads the version again, so that several programs may migrate at once.

use acquit_core::store::Error;

/// Returns the next migration of a store with version `found`; `None` if it is up to date.
pub(crate) fn next(found: i64, steps: &[&'static str]) -> Result<Option<&'static str>, Error> {
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(Error::Newer { found, known });
    }
    Ok(usize::try_from(found).ok().and_then(|done| steps.get(done)).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_in_order_and_a_newer_store_is_left_alone() {
        let steps = ["first", "second"];
        assert_eq!(next(0, &steps).unwrap(), Some("first"));
        assert_eq!(next(1, &steps).unwrap(), Some("second"));
        assert_eq!(next(2, &steps).unwrap(), None);
        assert!(matches!(next(3, &steps), Err(Error::Newer { found: 3, known: 2 })));
    }
}
