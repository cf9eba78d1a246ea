//! The star: its points and its wings.

use mercer::Points;

use crate::failure::Result;

/// The wings of the star; not quite equal, so that no two components are.
pub(super) const LENGTHS: [f64; 3] = [3.0, 3.3, 2.7];
pub(super) const NAMES: [&str; 3] = ["wing 1", "wing 2", "wing 3"];
/// Half the width of a wing at its root.
pub(super) const ROOT: f64 = 0.4;

/// Points of a star, and the wing of each: along a wing they are spread evenly, across it by the golden section, less the farther out.
pub(super) fn star(each: usize) -> Result<(Points, Vec<usize>)> {
    let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
    let (mut values, mut wings) = (Vec::new(), Vec::new());
    for at in 0..each {
        for (wing, length) in LENGTHS.into_iter().enumerate() {
            let share = (at as f64 + 0.5) / each as f64;
            let (along, across) = (length * share, ROOT * (2.0 * (at as f64 * golden).fract() - 1.0) * (1.0 - share));
            let (sine, cosine) = (std::f64::consts::FRAC_PI_2 + wing as f64 * std::f64::consts::TAU / 3.0).sin_cos();
            values.extend([along * cosine - across * sine, along * sine + across * cosine]);
            wings.push(wing);
        }
    }
    Ok((Points::from_f64(values, 3 * each, 2)?, wings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_has_three_wings_of_their_lengths() {
        let (points, wings) = star(40).unwrap();
        for (wing, length) in LENGTHS.into_iter().enumerate() {
            let far = (0..120).filter(|&i| wings[i] == wing).map(|i| points.row(i)[0].hypot(points.row(i)[1]));
            let far = far.fold(0.0, f64::max);
            assert!(far <= length && far > 0.95 * length, "wing {wing}: {far}");
        }
        // The first wing points upwards.
        assert!(points.row(117)[1] > 2.5 && points.row(117)[0].abs() < 0.1);
    }
}
