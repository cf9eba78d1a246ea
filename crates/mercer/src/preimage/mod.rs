//! Pre-images: from scores back to points.
//!
//! A point in feature space is in general the image of no point. [`RidgePreimage`] learns the way back from the points that
//! were learned from, as a regression of the points on their scores.

mod ridge;

pub use ridge::RidgePreimage;
