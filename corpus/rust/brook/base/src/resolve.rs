use crate::{Error, Settings};

pub(crate) fn resolve(settings: &Settings, key: &str) -> Result<String, Error> {
    expand(settings, key, 0)
}

const MAX_DEPTH: usize = 32;

fn expand(settings: &Settings, key: &str, depth: usize) -> Result<String, Error> {
    if depth > MAX_DEPTH {
        return Err(Error::Cycle(key.to_string()));
    }
    let mut rest = settings.raw(key).ok_or_else(|| Error::Missing(key.to_string()))?;
    let mut out = String::new();
    while let Some(start) = rest.find("${") {
        out.push_str(&rest[..start]);
        let end = rest[start..].find('}').unwrap() + start;
        out.push_str(&expand(settings, &rest[start + 2..end], depth + 1)?);
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}
