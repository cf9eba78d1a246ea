//! Patches of a picture, and the picture that patches overlap to.

use std::ops::Range;

use super::image::Image;
use crate::data::Points;
use crate::error::{Error, Result};

/// Where patches are taken: squares of `size` pixels, every `stride` pixels, and along the last row and column.
///
/// ```
/// use mercer::denoise::Grid;
///
/// let grid = Grid::new(8, 2)?;
/// assert_eq!((grid.size(), grid.stride()), (8, 2));
/// assert!(Grid::new(8, 9).is_err(), "there would be pixels in no patch");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    size: usize,
    stride: usize,
}

impl Default for Grid {
    fn default() -> Self {
        Self { size: 8, stride: 2 }
    }
}

impl Grid {
    /// Squares of `size` pixels, every `stride` pixels.
    ///
    /// # Errors
    ///
    /// If a patch has fewer than two pixels along a side, or the stride is zero or larger than a patch.
    pub fn new(size: usize, stride: usize) -> Result<Self> {
        if size < 2 {
            return Err(Error::invalid("patch", "at least 2 pixels", size));
        }
        if stride == 0 || stride > size {
            let requirement = format!("between 1 and the size of a patch ({size}), or pixels would be left out");
            return Err(Error::invalid("stride", requirement, stride));
        }
        Ok(Self { size, stride })
    }

    /// Pixels along the side of a patch.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Pixels from one patch to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Where patches begin along a side of a picture.
    fn starts(&self, length: usize) -> Vec<usize> {
        let last = length - self.size;
        let mut starts: Vec<usize> = (0..=last).step_by(self.stride).collect();
        if starts.last() != Some(&last) {
            starts.push(last);
        }
        starts
    }
}

/// The patches of a picture of a given shape, in rows from the top left.
pub(super) struct Patches {
    /// Pixels of a patch downwards and to the right.
    shape: (usize, usize),
    width: usize,
    channels: usize,
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// Whether every channel of a patch is taken less its mean.
    without_means: bool,
}

impl Patches {
    /// Squares of pixels, less the mean of every channel.
    pub(super) fn squares(image: &Image, grid: Grid) -> Result<Self> {
        let side = image.height().min(image.width());
        if grid.size > side {
            let requirement = format!("at most the smaller side of the picture ({side} pixels)");
            return Err(Error::invalid("patch", requirement, grid.size));
        }
        if image.height() == grid.size && image.width() == grid.size {
            let requirement = format!("less than the sides of the picture ({side} pixels both), or there is one patch");
            return Err(Error::invalid("patch", requirement, grid.size));
        }
        Ok(Self {
            shape: (grid.size, grid.size),
            width: image.width(),
            channels: image.channels(),
            rows: grid.starts(image.height()),
            columns: grid.starts(image.width()),
            without_means: true,
        })
    }

    /// Squares of pixels as they are, of the part of a picture with these rows and columns.
    pub(super) fn of_part(image: &Image, grid: Grid, (rows, columns): (&Range<usize>, &Range<usize>)) -> Result<Self> {
        let starts = |part: &Range<usize>, length: usize| {
            if part.end > length || part.len() < grid.size {
                let requirement = format!("inside the {length} pixels of the picture and of at least {}", grid.size);
                return Err(Error::invalid("part", requirement, format!("{} to {}", part.start, part.end)));
            }
            Ok(grid.starts(part.len()).into_iter().map(|start| part.start + start).collect())
        };
        Ok(Self {
            shape: (grid.size, grid.size),
            width: image.width(),
            channels: image.channels(),
            rows: starts(rows, image.height())?,
            columns: starts(columns, image.width())?,
            without_means: false,
        })
    }

    /// Every `window` consecutive rows of a picture that is one pixel wide.
    pub(super) fn windows(image: &Image, window: usize) -> Result<Self> {
        let n = image.height();
        if n < 2 {
            return Err(Error::TooFewRows { needed: 2, found: n });
        }
        if window == 0 || window >= n {
            let requirement = format!("at least 1 and less than the number of rows ({n}), or there is one window");
            return Err(Error::invalid("window", requirement, window));
        }
        Ok(Self {
            shape: (window, 1),
            width: 1,
            channels: image.channels(),
            rows: (0..=n - window).collect(),
            columns: vec![0],
            without_means: false,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }

    /// Numbers of a patch.
    pub(super) fn n_features(&self) -> usize {
        self.shape.0 * self.shape.1 * self.channels
    }

    /// In how many directions patches can vary.
    pub(super) fn rank(&self) -> usize {
        self.n_features() - if self.without_means { self.channels } else { 0 }
    }

    /// For each line of a patch, where its numbers stand among those of the picture.
    fn lines(&self, patch: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let (row, column) = (self.rows[patch / self.columns.len()], self.columns[patch % self.columns.len()]);
        (row..row + self.shape.0).map(move |row| {
            let first = (row * self.width + column) * self.channels;
            first..first + self.shape.1 * self.channels
        })
    }

    /// Some patches as points, and the means that were taken from them.
    pub(super) fn take(&self, image: &Image, some: impl ExactSizeIterator<Item = usize>) -> Result<(Points, Vec<f64>)> {
        let (n, d) = (some.len(), self.n_features());
        let (mut values, mut means) = (Vec::with_capacity(n * d), Vec::with_capacity(n * self.channels));
        for patch in some {
            let first = values.len();
            for line in self.lines(patch) {
                values.extend_from_slice(&image.values()[line]);
            }
            self.subtract_means(&mut values[first..], &mut means);
        }
        Ok((Points::from_f64(values, n, d)?, means))
    }

    /// Subtracts the mean of every channel, which is appended to `means`; zeros if patches are taken as they are.
    pub(super) fn subtract_means(&self, patch: &mut [f64], means: &mut Vec<f64>) {
        if !self.without_means {
            means.extend(std::iter::repeat_n(0.0, self.channels));
            return;
        }
        for channel in 0..self.channels {
            let of_channel = || (channel..patch.len()).step_by(self.channels);
            let mean = of_channel().map(|at| patch[at]).sum::<f64>() / (self.shape.0 * self.shape.1) as f64;
            for at in of_channel() {
                patch[at] -= mean;
            }
            means.push(mean);
        }
    }

    /// The means of one of the patches whose means these are.
    pub(super) fn means_of<'a>(&self, means: &'a [f64], place: usize) -> &'a [f64] {
        &means[place * self.channels..(place + 1) * self.channels]
    }
}

/// The sum of patches at every pixel, and how many there are.
#[derive(Debug)]
pub(super) struct Overlap {
    sums: Vec<f64>,
    counts: Vec<u32>,
}

impl Overlap {
    pub(super) fn new(image: &Image) -> Self {
        let n = image.values().len();
        Self { sums: vec![0.0; n], counts: vec![0; n] }
    }

    /// Adds a patch with the means of its channels.
    pub(super) fn add(
        &mut self,
        patches: &Patches,
        patch: usize,
        mut values: impl Iterator<Item = f64>,
        means: &[f64],
    ) {
        for line in patches.lines(patch) {
            for (inside, at) in line.enumerate() {
                let value = values.next().expect("a patch has as many numbers as its lines");
                self.sums[at] += value + means[inside % means.len()];
                self.counts[at] += 1;
            }
        }
    }

    /// The first number that no patch covers.
    pub(super) fn uncovered(&self) -> Option<usize> {
        self.counts.iter().position(|&count| count == 0)
    }

    /// The mean of all patches at every pixel.
    pub(super) fn mean(self, image: &Image) -> Image {
        let means = self.sums.iter().zip(&self.counts).map(|(sum, &count)| sum / f64::from(count));
        image.with_values(means.collect())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "what cannot be taken fails the test")]
pub(super) mod tests {
    use super::*;

    pub(in crate::denoise) fn image(height: usize, width: usize, channels: usize) -> Image {
        let values = (0..height * width * channels).map(|at| ((at * 37) % 101) as f64 / 7.0).collect();
        Image::new(values, height, width, channels).unwrap()
    }

    #[test]
    fn patches_that_were_not_changed_overlap_to_the_picture() {
        for (height, width, channels, size, stride) in [(9, 13, 1, 4, 3), (8, 9, 3, 8, 1), (7, 20, 3, 5, 5)] {
            let image = image(height, width, channels);
            let patches = Patches::squares(&image, Grid::new(size, stride).unwrap()).unwrap();
            let (points, _) = patches.take(&image, 0..patches.len()).unwrap();
            for patch in 0..patches.len() {
                let sum: f64 = points.row(patch).iter().step_by(channels).sum();
                assert!(sum.abs() < 1e-10, "the mean of a channel is gone");
            }
            check_overlap(&image, &patches);
        }
    }

    #[test]
    fn windows_that_were_not_changed_overlap_to_the_rows() {
        for window in [1, 3, 7] {
            let image = image(8, 1, 4);
            let patches = Patches::windows(&image, window).unwrap();
            assert_eq!((patches.len(), patches.n_features()), (9 - window, 4 * window));
            check_overlap(&image, &patches);
        }
    }

    fn check_overlap(image: &Image, patches: &Patches) {
        let mut overlap = Overlap::new(image);
        let (points, means) = patches.take(image, 0..patches.len()).unwrap();
        for patch in 0..patches.len() {
            overlap.add(patches, patch, points.row(patch).into_iter(), patches.means_of(&means, patch));
        }
        for (a, b) in overlap.mean(image).values().iter().zip(image.values()) {
            assert!((a - b).abs() < 1e-12, "{a} instead of {b}");
        }
    }

    #[test]
    fn the_last_row_and_column_are_covered() {
        let patches = Patches::squares(&image(9, 10, 1), Grid::new(4, 3).unwrap()).unwrap();
        assert_eq!((patches.rows, patches.columns), (vec![0, 3, 5], vec![0, 3, 6]));
    }
}
