//! The newest values of a stream.

/// Keeps at most so many values, and drops the oldest.
#[derive(Debug)]
pub struct Ring<T> {
    items: Vec<T>,
    next: usize,
    capacity: usize,
}

impl<T: Clone> Ring<T> {
    /// An empty ring.
    pub fn new(capacity: usize) -> Ring<T> {
        Ring { items: Vec::new(), next: 0, capacity }
    }

    /// Adds a value.
    pub fn push(&mut self, item: T) {
        if self.items.len() < self.capacity {
            self.items.push(item);
        } else {
            self.items[self.next] = item;
        }
        self.next = (self.next + 1) % self.capacity;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The newest value.
    pub fn newest(&self) -> Option<&T> {
        self.items.get(self.next.checked_sub(1)?)
    }

    /// All values, oldest first.
    pub fn to_vec(&self) -> Vec<T> {
        if self.items.len() < self.capacity {
            return self.items.clone();
        }
        let (newer, older) = self.items.split_at(self.next);
        older.iter().chain(newer).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_the_oldest() {
        let mut ring = Ring::new(3);
        for n in 1..=5 {
            ring.push(n);
        }
        assert_eq!(ring.to_vec(), [3, 4, 5]);
        assert_eq!(ring.len(), 3);
    }

    #[test]
    fn empty() {
        let ring: Ring<u8> = Ring::new(2);
        assert!(ring.is_empty());
        assert_eq!(ring.newest(), None);
    }

    #[test]
    fn newest_of_two() {
        let mut ring = Ring::new(3);
        ring.push('a');
        ring.push('b');
        assert_eq!(ring.newest(), Some(&'b'));
    }
}
