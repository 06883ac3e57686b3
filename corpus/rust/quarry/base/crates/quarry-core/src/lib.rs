//! Weights of stone and the trucks that carry it.
//!
//! ```
//! use quarry_core::{pack, weight};
//!
//! let loads = pack(&[3_000, 4_000, 2_000], 5_000);
//! assert_eq!(loads, [vec![3_000, 2_000], vec![4_000]]);
//! assert_eq!(weight::format(3_500), "3.5t");
//! ```

pub mod truck;
pub mod weight;

pub use truck::{pack, Overload, Truck};
