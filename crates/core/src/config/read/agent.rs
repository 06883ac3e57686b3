//! Reads agents, model aliases and prices.

use std::collections::BTreeMap;

use super::super::{Adapter, Agent, Billing, Product, Reporting};
use super::declare;
use super::safety::{hosts, login};
use crate::price::{Price, Prices};
use crate::role::Tier;
use crate::shared_keys::{at_once, check_model, grants, is_model, model, turns};
use crate::toml_reader::{At, Table, check_variable, did_you_mean, quoted};

/// The kind of an adapter.
#[derive(Clone, Copy)]
enum Kind {
    Command,
    Acp,
    Scripted,
    Product(Product),
}

/// Returns all adapters with their names.
fn kinds() -> Vec<(&'static str, Kind)> {
    let products = Product::ALL.iter().map(|&product| (product.name(), Kind::Product(product)));
    products.chain([("command", Kind::Command), ("acp", Kind::Acp), ("scripted", Kind::Scripted)]).collect()
}

/// Keys that only product adapters have.
const OF_PRODUCTS: [&str; 7] = ["program", "args", "model", "tiers", "turns", "billing", "report"];

/// Keys that determine the program to start. If a file has one of them, grants of the layer below don't apply, because
/// they were made for another program.
const STARTS: [&str; 4] = ["program", "args", "run", "script"];

/// Reads an agent. `known` are the declared secrets. `under` is the agent of the same name in the layer below; its keys
/// are the fallback.
pub(super) fn agent(mut table: Table<'_, '_>, known: &[&str], under: Option<&Agent>) -> Option<Agent> {
    let kind = table.word("adapter", &kinds()).map(|kind| kind.value);
    let starts = STARTS.iter().any(|key| table.has(key));
    let inherits = under.filter(|_| !table.has("adapter") && !table.has("run") && !table.has("script"));
    if inherits.is_none() {
        table.require(
            "adapter",
            "say how it is talked to: adapter = \"claude\", or \"command\" for any program",
        );
    }
    let adapter = match (kind, inherits) {
        (Some(kind), _) => adapter(&mut table, kind),
        (None, Some(under)) => Some(under.adapter.clone()),
        (None, None) => unknown(&mut table),
    };
    let under = under.filter(|under| adapter.as_ref().is_some_and(|own| own.name() == under.adapter.name()));
    // A file that names another program does not get what the user's program is trusted with.
    let granted_under = under.filter(|_| !starts);
    let program = table.string("program");
    if let Some(program) = program.as_ref().filter(|program| program.value.trim().is_empty()) {
        table.source.report(program.place, "`program` is empty", None);
    }
    let args = table.strings("args").unwrap_or_default().into_iter().map(|arg| arg.value).collect();
    let model = model(&mut table).or_else(|| under?.model.clone());
    let mut all_tiers = under.map(|under| under.tiers.clone()).unwrap_or_default();
    all_tiers.extend(table.table("tiers").map(tiers).unwrap_or_default());
    let tiers = all_tiers;
    let turns = turns(&mut table).or_else(|| under?.turns);
    let billing = table.word("billing", &Billing::ALL).map(|billing| billing.value);
    let billing = billing.or_else(|| under?.billing);
    let report = table.word("report", &Reporting::ALL).map(|report| report.value);
    let report = report.or_else(|| Some(under?.report)).unwrap_or_default();
    let account = account(&mut table).or_else(|| under?.account.clone());
    let at_once = at_once(&mut table).or_else(|| under?.at_once);
    let env = table.environment("env");
    let mut pass_env = Vec::new();
    for name in table.strings("pass_env").unwrap_or_default() {
        let _ = check_variable(table.source, &At { value: name.value.as_str(), place: name.place });
        if env.contains_key(&name.value) {
            let what = format!("{} is in both `env` and `pass_env`", quoted(&name.value));
            table.source.report(name.place, what, Some("it can have only one value; remove one".to_owned()));
        }
        pass_env.push(name.value);
    }
    let says = |key: &str| table.has(key);
    let (own_env, own_pass, own_grants) = (says("env"), says("pass_env"), says("secrets"));
    let (own_hosts, own_login) = (says("hosts"), says("login"));
    let secrets = granted(&mut table, known, &env, &pass_env);
    let hosts = hosts(&mut table);
    let login = login(&mut table);
    table.finish();
    let below = |own: bool| granted_under.filter(|_| !own);
    let env = below(own_env).map_or(env, |under| under.env.clone());
    let pass_env = below(own_pass).map_or(pass_env, |under| under.pass_env.clone());
    let secrets = below(own_grants).map_or(secrets, |under| under.secrets.clone());
    let hosts = below(own_hosts).map_or(hosts, |under| under.hosts.clone());
    let login = below(own_login).map_or(login, |under| under.login.clone());
    let args = below(false).map_or(args, |under| under.args.clone());
    let program = program.map(|program| program.value).or_else(|| granted_under?.program.clone());
    Some(Agent {
        adapter: adapter?,
        env,
        pass_env,
        secrets,
        hosts,
        login,
        program,
        args,
        model,
        tiers,
        turns,
        billing,
        account,
        at_once,
        report,
    })
}

/// Reads the name of an account. It names nothing outside of acquit.
fn account(table: &mut Table<'_, '_>) -> Option<String> {
    let account = table.string("account")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    if account.value.is_empty() || !account.value.chars().all(fits) {
        let hint = Some("a name of letters, digits and `._-@`, such as \"team\"".to_owned());
        let what = format!("{} cannot name an account", quoted(&account.value));
        table.source.report(account.place, what, hint);
    }
    Some(account.value)
}

/// Reads the keys of this kind of adapter, and reports keys of other kinds.
fn adapter(table: &mut Table<'_, '_>, kind: Kind) -> Option<Adapter> {
    match kind {
        Kind::Command => {
            table.refuse(&["script"], "only the adapter \"scripted\" has a script");
            table.refuse(&OF_PRODUCTS, "the adapter \"command\" starts what `run` says, as it is");
            table.require("run", "name the program: run = [\"my-agent\", \"--print\"]");
            table.value("run").and_then(|value| value.command()).map(|run| Adapter::Command { run })
        }
        Kind::Acp => {
            table.refuse(&["script"], "only the adapter \"scripted\" has a script");
            table.refuse(&OF_PRODUCTS, "the adapter \"acp\" starts what `run` says, as it is");
            table.require("run", "name the agent: run = [\"gemini\", \"--acp\"]");
            table.value("run").and_then(|value| value.command()).map(|run| Adapter::Acp { run })
        }
        Kind::Scripted => {
            table.refuse(&["run"], "only the adapters \"command\" and \"acp\" run a program");
            table.refuse(&OF_PRODUCTS, "a script has no model");
            table.require("script", "name the script: script = \"demo.json\"");
            let script = table.string("script");
            if let Some(script) = script.as_ref().filter(|script| script.value.trim().is_empty()) {
                table.source.report(script.place, "`script` is empty", None);
            }
            script.map(|script| Adapter::Scripted { script: script.value })
        }
        Kind::Product(product) => {
            table.refuse(&["script"], "only the adapter \"scripted\" has a script");
            table.refuse(&["run"], "this adapter knows how to start it; `program` and `args` change that");
            Some(Adapter::Product { product })
        }
    }
}

/// With an unknown kind, keys of any kind may be valid.
fn unknown(table: &mut Table<'_, '_>) -> Option<Adapter> {
    table.value("run");
    table.value("script");
    None
}

/// Reads models by tier.
fn tiers(table: Table<'_, '_>) -> BTreeMap<Tier, String> {
    let mut table = table.named("the tiers".to_owned());
    let mut tiers = BTreeMap::new();
    for (word, tier) in Tier::ALL {
        if let Some(model) = table.string(word) {
            check_model(&table, &model);
            tiers.insert(tier, model.value);
        }
    }
    table.finish();
    tiers
}

/// Reads the project's model aliases. Aliases of aliases are not followed, so they are mistakes.
pub(super) fn models(table: Table<'_, '_>) -> BTreeMap<String, String> {
    let source = table.source;
    let mut places = Vec::new();
    let mut models = BTreeMap::new();
    for (alias, value) in table.entries() {
        let Some(model) = value.string() else { continue };
        if !is_model(&model.value) {
            source.report(model.place, format!("{} is not the name of a model", quoted(&model.value)), None);
        }
        places.push((alias.value, model.place, model.value.clone()));
        models.insert(alias.value.to_owned(), model.value);
    }
    for (alias, place, model) in places {
        if alias != model && models.contains_key(&model) {
            let what = format!("{} is an alias itself", quoted(&model));
            source.report(place, what, Some("write the model that is meant".to_owned()));
        }
    }
    models
}

/// Reads prices by model name. A key that an entry leaves out comes from the entry of the same name in the layer below.
pub(super) fn prices(table: Table<'_, '_>, under: &Prices) -> Prices {
    let mut prices = Prices::new();
    for (model, value) in table.entries() {
        let Some(table) = value.table() else { continue };
        let mut table = table.named(format!("the price of `{}`", model.value));
        let below = under.get(model.value);
        let mut dollars = |key| table.value(key).and_then(|value| value.dollars());
        let input = dollars("input").or(below.map(|below| below.input));
        let output = dollars("output").or(below.map(|below| below.output));
        let cache_read = dollars("cache_read").or(below.and_then(|below| below.cache_read));
        let cache_write_5m = dollars("cache_write_5m").or(below.and_then(|below| below.cache_write_5m));
        let cache_write_1h = dollars("cache_write_1h").or(below.and_then(|below| below.cache_write_1h));
        if below.is_none() {
            for key in ["input", "output"] {
                table.require(key, "say what a million tokens cost in dollars");
            }
        }
        table.finish();
        if let (Some(input), Some(output)) = (input, output) {
            let price = Price { input, output, cache_read, cache_write_5m, cache_write_1h };
            prices.insert(model.value.to_owned(), price);
        }
    }
    prices
}

/// Reads the secrets of an agent. Each must be declared and must be the only source of its variable.
fn granted(
    table: &mut Table<'_, '_>,
    known: &[&str],
    env: &BTreeMap<String, String>,
    pass_env: &[String],
) -> Vec<String> {
    let mut names = Vec::new();
    for name in grants(table) {
        if !known.contains(&name.value.as_str()) {
            let hint = did_you_mean(&name.value, "secrets are", known.iter().copied());
            let hint = hint.unwrap_or_else(|| declare(&name.value));
            table.source.report(name.place, format!("unknown secret {}", quoted(&name.value)), Some(hint));
        } else if env.contains_key(&name.value) || pass_env.contains(&name.value) {
            let other = if env.contains_key(&name.value) { "env" } else { "pass_env" };
            let what = format!("{} is in both `secrets` and `{other}`", quoted(&name.value));
            let hint = format!("as a secret it is kept out of logs; remove it from `{other}`");
            table.source.report(name.place, what, Some(hint));
        }
        names.push(name.value);
    }
    names
}
