//! Pictures of a fit, as SVG: pure functions from data to text.
//!
//! Colours carry no meaning alone (classes are also named in the picture), text stays text, and nothing is loaded from
//! elsewhere, so that a picture looks the same in a browser, a talk and in ten years.

mod axis;
mod curves;
mod gallery;
mod palette;
mod scan;
mod scatter;
mod scree;
mod sticks;
mod svg;

pub(crate) use curves::{Curve, Curves};
pub(crate) use gallery::{Gallery, Map};
pub(crate) use scan::{Panel, Scan};
pub(crate) use scatter::{Scatter, ScatterPoint};
pub(crate) use scree::Scree;
pub(crate) use sticks::{Pose, Poses, Stick};
pub(crate) use svg::escaped;
