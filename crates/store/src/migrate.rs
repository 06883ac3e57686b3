//! Which step brings a store forward. A store's version is the number of steps that it has behind it; each step is one
//! transaction in which the version is read again, so that several programs may migrate at once.

use acquit_core::store::Error;

/// The step that a store of version `found` needs next; `None` if it is up to date.
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
