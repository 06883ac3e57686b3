//! Trucks and what is on them.

/// A load is too heavy: by so many kilograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overload(pub u64);

/// A truck with a capacity.
#[derive(Clone, Debug)]
pub struct Truck {
    capacity: u64,
    loads: Vec<u64>,
}

impl Truck {
    /// An empty truck.
    #[must_use]
    pub fn new(capacity: u64) -> Truck {
        Truck { capacity, loads: Vec::new() }
    }

    /// What is on it.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.loads.iter().sum()
    }

    /// What may still be put on it.
    #[must_use]
    pub fn free(&self) -> u64 {
        self.capacity - self.weight()
    }

    /// Puts a load on it.
    pub fn add(&mut self, kg: u64) -> Result<(), Overload> {
        self.loads.push(kg);
        if self.weight() > self.capacity {
            return Err(Overload(self.weight() - self.capacity));
        }
        Ok(())
    }

    /// Takes the last load off.
    pub fn unload(&mut self) -> Option<u64> {
        self.loads.pop()
    }
}

/// Puts each weight on the first truck that has room.
#[must_use]
pub fn pack(weights: &[u64], capacity: u64) -> Vec<Vec<u64>> {
    let mut trucks: Vec<Vec<u64>> = Vec::new();
    for &kg in weights {
        match trucks.iter_mut().find(|loads| loads.iter().sum::<u64>() + kg <= capacity) {
            Some(loads) => loads.push(kg),
            None => trucks.push(vec![kg]),
        }
    }
    trucks
}
