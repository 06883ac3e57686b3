//! The rules of claims as a pure model, held against the store: random steps of many tasks, and after each the same answer of both.
//!
//! The model knows nothing of databases. It says which leg is claimed next: the highest priority, then the project whose turn it is, then the
//! oldest; only legs that are due and that no limit keeps waiting. The steps are those of a fleet: tasks are added, legs are claimed, end, are
//! held, lost and cancelled, accounts reach their limits, time passes, and harnesses that were replaced write all the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use acquit_core::decide::Input;
use acquit_core::definition::Definition;
use acquit_core::fleet::{Pool, pools};
use acquit_core::ids::{LegId, Name, TaskId};
use acquit_core::leg::{Ending, State};
use acquit_core::store::{Claim, Error, Store, Wanted};
use acquit_core::time::{Span, Timestamp};

use crate::fixture::{LEASE, Place, START, definition, end, input, lose, me, owner, passed};
use crate::pools::{create_in, with_agent};

/// Steps of an ordinary run. `cargo xtask soak` takes a million on SQLite.
const STEPS: u32 = 1_500;
const SOAK_STEPS: u32 = 1_000_000;
/// Steps with one store. A store with many ended tasks takes as long for a step as a new one, but more room.
const ROUND: u32 = 20_000;

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(usize::try_from(self.roll(u64::try_from(all.len()).ok()?.max(1))).ok()?)
    }
}

/// A leg that waits or runs.
#[derive(Clone, Debug)]
struct Known {
    priority: i32,
    turn: i64,
    not_before: Timestamp,
    pools: Vec<String>,
    cancel: bool,
}

/// What the rules say.
#[derive(Default)]
struct Model {
    ready: BTreeMap<LegId, Known>,
    running: BTreeMap<LegId, Known>,
    turns: BTreeMap<(String, i32), i64>,
    limits: BTreeMap<String, Option<u32>>,
    paused: BTreeMap<String, Timestamp>,
}

impl Model {
    /// A leg is ready. It takes the next turn of its project, but not an earlier one than those who wait.
    fn add(
        &mut self,
        leg: LegId,
        project: &str,
        priority: i32,
        (not_before, now): (Timestamp, Timestamp),
        all: &[(String, Option<u32>)],
    ) {
        let due = self.ready.values().filter(|known| known.priority == priority && known.not_before <= now);
        let last = self.turns.iter().filter(|((_, of), _)| *of == priority).map(|(_, turn)| *turn).max();
        let first = due.map(|known| known.turn).min().or(last).unwrap_or(0);
        let own = self.turns.entry((project.to_owned(), priority)).or_insert(first - 1);
        *own = (*own + 1).max(first);
        let known = Known {
            priority,
            turn: *own,
            not_before,
            pools: all.iter().map(|(pool, _)| pool.clone()).collect(),
            cancel: false,
        };
        self.limits.extend(all.iter().cloned());
        self.ready.insert(leg, known);
    }

    fn is_open(&self, known: &Known, now: Timestamp) -> bool {
        let is_full = |pool: &String| {
            let runs = || self.running.values().filter(|other| other.pools.contains(pool)).count();
            let full = |most: &Option<u32>| most.is_some_and(|most| runs() >= most as usize);
            self.paused.get(pool).is_some_and(|until| *until > now) || self.limits.get(pool).is_some_and(full)
        };
        known.not_before <= now && (known.cancel || !known.pools.iter().any(is_full))
    }

    /// The leg that is claimed next.
    fn next(&self, now: Timestamp) -> Option<LegId> {
        let open = self.ready.iter().filter(|(_, known)| self.is_open(known, now));
        open.min_by_key(|(leg, known)| (Reverse(known.priority), known.turn, leg.task, leg.number))
            .map(|(leg, _)| *leg)
    }

    fn take(&mut self, leg: LegId) {
        let known = self.ready.remove(&leg).expect("a leg that waits");
        self.running.insert(leg, known);
    }
}

struct Run<'a> {
    place: &'a Place,
    store: Box<dyn Store>,
    model: Model,
    held: Vec<Claim>,
    /// Claims of legs that others declared lost.
    stale: Vec<Claim>,
    seen: BTreeSet<i64>,
    definitions: Vec<Definition>,
    dice: Dice,
}

impl Run<'_> {
    fn step(&mut self) {
        match self.dice.roll(14) {
            0 | 1 if self.model.ready.len() < 60 => self.create(),
            0..=4 => self.claim(),
            5 | 6 => self.end(),
            7 => self.be_held(),
            8 => self.be_lost(),
            9 => self.cancel(),
            10 => self.pause(),
            11 => self.write_late(),
            12 => self.claim_one(),
            _ => self.place.later(Duration::from_secs(self.dice.roll(40))),
        }
    }

    fn now(&mut self) -> Timestamp {
        self.store.now().unwrap()
    }

    fn create(&mut self) {
        let definition = self.dice.one_of(&self.definitions).unwrap().clone();
        let project = ["/a", "/b", "/c"][usize::try_from(self.dice.roll(3)).unwrap()];
        let priority = i32::try_from(self.dice.roll(8) / 7).unwrap();
        let task = create_in(&mut *self.store, project, priority, &definition);
        self.readied(task.id(), &definition);
    }

    /// Tells the model of a task's newest leg, if it waits.
    fn readied(&mut self, task: TaskId, definition: &Definition) {
        let now = self.now();
        let Some(leg) = self.store.legs(task).unwrap().pop() else { return };
        if leg.state != State::Ready {
            return;
        }
        let seed = self.store.task(task).unwrap().seed;
        let all: Vec<(String, Option<u32>)> = pools(definition)
            .remove(leg.entry.stage.as_str())
            .unwrap_or_default()
            .into_iter()
            .map(|share| (share.pool.key(&seed.project.path), share.at_once))
            .collect();
        self.model.add(leg.id, &seed.project.path, seed.wish.priority, (leg.not_before, now), &all);
    }

    fn taken(&mut self, claim: Claim) {
        assert!(self.seen.insert(claim.hold.fence.0), "a fence is given once");
        self.model.take(claim.leg.id);
        self.held.push(claim);
    }

    fn claim(&mut self) {
        let now = self.now();
        let expected = self.model.next(now);
        let claimed = self.store.claim(Wanted::Any, &owner(1), LEASE).unwrap();
        assert_eq!(claimed.as_ref().map(|claim| claim.leg.id), expected);
        if let Some(claim) = claimed {
            self.taken(claim);
        }
    }

    /// A harness goes on with its task, or a person asks for one.
    fn claim_one(&mut self) {
        let now = self.now();
        let all: Vec<LegId> = self.model.ready.keys().copied().collect();
        let Some(leg) = self.dice.one_of(&all).copied() else { return };
        let (asked, known) = (self.dice.roll(4) == 0, &self.model.ready[&leg]);
        let expected = if asked { known.not_before <= now } else { self.model.is_open(known, now) };
        let wanted = if asked { Wanted::Of(leg.task) } else { Wanted::Due(leg.task) };
        let claimed = self.store.claim(wanted, &owner(2), LEASE).unwrap();
        assert_eq!(claimed.is_some(), expected, "{leg} {wanted:?}");
        if let Some(claim) = claimed {
            self.taken(claim);
        }
    }

    fn pick(&mut self) -> Option<Claim> {
        if self.held.is_empty() {
            return None;
        }
        let index = usize::try_from(self.dice.roll(u64::try_from(self.held.len()).unwrap())).unwrap();
        let mut claim = self.held.swap_remove(index);
        // A person may have changed the task since.
        claim.task = self.store.task(claim.leg.id.task).unwrap();
        Some(claim)
    }

    fn end_so(&mut self, ending: Ending) {
        let Some(claim) = self.pick() else { return };
        end(&mut *self.store, &claim, ending).unwrap();
        self.model.running.remove(&claim.leg.id);
        self.readied(claim.leg.id.task, &claim.definition);
    }

    fn end(&mut self) {
        self.end_so(passed());
    }

    fn be_held(&mut self) {
        let wait = Span::from(self.dice.roll(60_000));
        self.end_so(Ending::Held { kind: Name::literal("limit"), wait, reason: "later".to_owned() });
    }

    fn be_lost(&mut self) {
        let Some(claim) = self.pick() else { return };
        lose(&mut *self.store, &claim);
        self.model.running.remove(&claim.leg.id);
        self.readied(claim.leg.id.task, &claim.definition);
        self.stale.push(claim);
    }

    /// A harness that was declared lost writes nothing.
    fn write_late(&mut self) {
        let Some(claim) = self.dice.one_of(&self.stale).cloned() else { return };
        let refused =
            |result: Result<(), Error>| assert!(matches!(result, Err(Error::Fenced(_))), "{result:?}");
        refused(self.store.heartbeat(claim.hold, LEASE).map(|_| ()));
        refused(self.store.note(claim.hold, &[]));
        refused(self.store.pause(claim.hold, &Pool::Project, Timestamp(i64::MAX)));
        refused(end(&mut *self.store, &claim, passed()).map(|_| ()));
    }

    fn cancel(&mut self) {
        if self.dice.roll(4) > 0 {
            return;
        }
        let all: Vec<LegId> = self.model.ready.keys().chain(self.model.running.keys()).copied().collect();
        let Some(leg) = self.dice.one_of(&all).copied() else { return };
        let task = self.store.task(leg.task).unwrap();
        if input(&mut *self.store, &task, Input::Cancel { by: me() }).is_err() {
            return;
        }
        let known = self.model.ready.get_mut(&leg).or_else(|| self.model.running.get_mut(&leg)).unwrap();
        (known.cancel, known.not_before) = (true, Timestamp(0));
    }

    fn pause(&mut self) {
        let now = self.now();
        let Some(claim) = self.dice.one_of(&self.held).cloned() else { return };
        let account = Pool::Account("team".to_owned());
        let until = now.plus(Duration::from_secs(self.dice.roll(60)));
        self.store.pause(claim.hold, &account, until).unwrap();
        let known = self.model.paused.entry(account.key("")).or_insert(until);
        *known = (*known).max(until);
    }
}

fn run(place: &Place, steps: u32, seed: u64) {
    let with = |project: Option<u32>, workflow: Option<u32>, account: Option<&str>| {
        let mut one = with_agent(definition(), account);
        (one.config.at_once, one.workflow.at_once) = (project, workflow);
        one
    };
    let definitions = vec![
        with(None, None, None),
        with(Some(3), None, Some("team")),
        with(None, Some(2), Some("team")),
        with(Some(4), Some(3), None),
    ];
    let mut run = Run {
        place,
        store: place.open(),
        model: Model::default(),
        held: Vec::new(),
        stale: Vec::new(),
        seen: BTreeSet::new(),
        definitions,
        dice: Dice(0x9E37_79B9_7F4A_7C15 ^ (seed + 1)),
    };
    for _ in 0..steps {
        run.step();
    }
    assert!(
        run.seen.len() > steps as usize / 20 && run.now() > START,
        "there were claims: {}",
        run.seen.len()
    );
}

pub fn the_store_answers_as_the_model_does(place: &Place) {
    run(place, STEPS, 1);
}

#[test]
fn soak_a_million_steps_are_answered_as_the_model_does() {
    for round in 0..SOAK_STEPS / ROUND {
        run(&Place::sqlite(), ROUND, u64::from(round) + 2);
    }
}
