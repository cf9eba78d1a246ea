//! Small pictures side by side: eigenvectors as images, scores over the plane.

use super::palette::{INK, SOFT_INK};
use super::svg::{Anchor, Style, Svg};

/// One small picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Map<'a> {
    pub(crate) caption: &'a str,
    /// Cells in a row.
    pub(crate) width: usize,
    /// Cells, row by row from the top: the smallest is black, the largest white.
    pub(crate) values: &'a [f64],
}

/// What a gallery shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gallery<'a> {
    pub(crate) title: &'a str,
    /// Where it comes from, in one line under the title.
    pub(crate) subtitle: &'a str,
    pub(crate) maps: &'a [Map<'a>],
}

/// Pictures in a row, and how large they are.
const IN_A_ROW: usize = 5;
const SIZE: f64 = 144.0;
const GAP: f64 = 20.0;
const LEFT: f64 = 32.0;
const TOP: f64 = 92.0;
const CAPTION: f64 = 28.0;
/// Shades of grey: bands of equal values can be seen.
const SHADES: usize = 16;

impl Map<'_> {
    /// How tall it is drawn.
    fn height(&self) -> f64 {
        let width = self.width.max(1);
        SIZE * self.values.len().div_ceil(width) as f64 / width as f64
    }
}

impl Gallery<'_> {
    /// The picture.
    pub(crate) fn to_svg(self) -> String {
        let columns = self.maps.len().clamp(1, IN_A_ROW) as f64;
        let rows = self.maps.len().div_ceil(IN_A_ROW).max(1) as f64;
        let width = (2.0 * LEFT + columns * SIZE + (columns - 1.0) * GAP).max(640.0);
        // Pictures are equally wide; captions stand below the tallest.
        let tallest = self.maps.iter().map(Map::height).fold(0.0, f64::max);
        let height = TOP + rows * (tallest + CAPTION + GAP);
        let mut svg = Svg::new(width, height, self.title, &format!("{} pictures.", self.maps.len()));
        svg.text((LEFT, 40.0), self.title, Style { size: 22.0, color: INK, bold: true, anchor: Anchor::Start });
        let soft = Style { size: 13.0, color: SOFT_INK, bold: false, anchor: Anchor::Start };
        svg.text((LEFT, 64.0), self.subtitle, soft);
        for (at, map) in self.maps.iter().enumerate() {
            let x = LEFT + (at % IN_A_ROW) as f64 * (SIZE + GAP);
            let y = TOP + (at / IN_A_ROW) as f64 * (tallest + CAPTION + GAP);
            svg.shades((x, y), SIZE, map.width, &shades(map.values), SHADES);
            svg.text((x, y + tallest + 18.0), map.caption, Style { size: 14.0, color: INK, ..soft });
        }
        svg.finish()
    }
}

/// The shade of each value; the middle one for what is not finite, or if all values are equal.
fn shades(values: &[f64]) -> Vec<usize> {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    let shade = |value: f64| {
        let share = (value - low) / (high - low);
        if share.is_finite() { ((share * SHADES as f64) as usize).min(SHADES - 1) } else { SHADES / 2 }
    };
    values.iter().map(|&value| shade(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_is_black_and_the_largest_white() {
        assert_eq!(shades(&[-1.0, 0.0, 1.0]), [0, 8, 15]);
        assert_eq!(shades(&[3.0, 3.0]), [8, 8]);
        assert_eq!(shades(&[0.0, f64::NAN, 1.0]), [0, 8, 15]);
    }

    #[test]
    fn a_gallery_has_a_picture_and_a_caption_for_each_map() {
        let maps = [Map { caption: "first", width: 2, values: &[0.0, 1.0, 1.0, 0.0] }; 7];
        let svg = Gallery { title: "T", subtitle: "S", maps: &maps }.to_svg();
        assert_eq!(svg.matches(">first</text>").count(), 7);
        assert!(svg.matches("fill=\"#000000\"").count() == 7 && svg.matches("fill=\"#ffffff\"").count() >= 7);
        assert!(Gallery { title: "T", subtitle: "S", maps: &[] }.to_svg().ends_with("</svg>\n"));
    }

    #[test]
    fn a_caption_stands_below_a_picture_that_is_taller_than_wide() {
        let tall = Map { caption: "tall", width: 2, values: &[0.0, 1.0, 1.0, 0.0, 1.0, 0.0] };
        let svg = Gallery { title: "T", subtitle: "S", maps: &[tall] }.to_svg();
        assert!(svg.contains(&format!("y=\"{}\"", TOP + 1.5 * SIZE + 18.0)), "{svg}");
    }
}
