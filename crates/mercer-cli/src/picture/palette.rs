//! Colours.

/// Ten colours that can be told apart with every kind of colour vision, and on white.
///
/// They started as the muted scheme of Paul Tol and were moved until the closest two were as far apart as they would get in
/// `CIELAB`, with normal vision and with each of the three dichromacies: see the test.
pub(super) const CLASSES: [&str; 10] =
    ["#1c0088", "#a9c8fc", "#df8878", "#2b99a2", "#095a17", "#cdd22f", "#6e0365", "#a18914", "#9f42c4", "#5c5554"];

/// The bars of a chart.
pub(super) const BAR: &str = "#3f86c6";

/// The bars' colour, dark enough for text on white.
pub(super) const BAR_TEXT: &str = "#1f66a8";

/// A line over bars.
pub(super) const LINE: &str = "#b3261e";

/// Points that belong to no class.
pub(super) const NEUTRAL: &str = "#9aa0a6";

/// Titles and what must be read.
pub(super) const INK: &str = "#1f2933";

/// Ticks, subtitles and what may be read.
pub(super) const SOFT_INK: &str = "#5f6b7a";

/// Lines of the grid.
pub(super) const GRID: &str = "#e6e9ed";

/// Lines that the data stands on.
pub(super) const AXIS: &str = "#9aa5b1";

#[cfg(test)]
mod tests {
    use super::*;

    type Color = [f64; 3];
    type Matrix = [[f64; 3]; 3];

    /// What linear red, green and blue become without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1).
    const VISIONS: [(&str, Matrix); 4] = [
        ("all cones", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "no red cones",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "no green cones",
            [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        ),
        (
            "no blue cones",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ),
    ];

    fn times(matrix: &Matrix, color: Color) -> Color {
        matrix.map(|row| row.iter().zip(color).map(|(m, c)| m * c).sum())
    }

    fn linear(hex: &str) -> Color {
        [1, 3, 5].map(|at| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// `CIELAB` coordinates for the white of sRGB.
    fn lab(color: Color) -> Color {
        let to_xyz = [
            [0.412_456_4, 0.357_576_1, 0.180_437_5],
            [0.212_672_9, 0.715_152_2, 0.072_175_0],
            [0.019_333_9, 0.119_192_0, 0.950_304_1],
        ];
        let [x, y, z] = times(&to_xyz, color);
        let f =
            [x / 0.950_47, y, z / 1.088_83].map(|t| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])]
    }

    #[test]
    fn any_two_colours_differ_for_every_eye() {
        for (vision, matrix) in &VISIONS {
            let seen = |hex: &str| lab(times(matrix, linear(hex)).map(|c| c.clamp(0.0, 1.0)));
            for (i, a) in CLASSES.iter().enumerate() {
                for b in &CLASSES[..i] {
                    let gap = seen(a).iter().zip(seen(b)).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt();
                    // A difference of 2.3 is just noticeable for large patches; ten times that serves small dots.
                    assert!(gap > 23.0, "{a} and {b} are {gap:.1} apart with {vision}");
                }
            }
        }
    }

    #[test]
    fn every_colour_can_be_seen_on_white() {
        for color in CLASSES {
            assert!(lab(linear(color))[0] < 83.0, "{color}");
        }
    }
}
