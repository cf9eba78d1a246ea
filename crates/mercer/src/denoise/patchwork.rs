//! A picture put together from the patches of its parts, each with components of its own.

use std::ops::Range;

use faer::MatRef;

use super::image::Image;
use super::patches::{Grid, Overlap, Patches};
use crate::data::Points;
use crate::error::{Error, Result};

/// A part of a picture: some of its rows and columns.
///
/// ```
/// use mercer::denoise::{Grid, Image, Patchwork};
///
/// let image = Image::new(vec![0.5; 256 * 256], 256, 256, 1)?;
/// // Quarters, and half a patch of what is beyond them: 62 x 62 patches each.
/// let parts = Patchwork::new(&image, Grid::new(11, 2)?).parts(2)?;
/// assert_eq!((parts.len(), &parts[1].rows, &parts[1].columns), (4, &(0..133), &(123..256)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its rows of pixels.
    pub rows: Range<usize>,
    /// Its columns of pixels.
    pub columns: Range<usize>,
}

/// Patches of a picture as they are, with their means, and the picture that others in their place overlap to: the denoising of \[GSV07\], where
/// every part of a picture has components of its own.
///
/// ```
/// use mercer::denoise::{Grid, Image, Patchwork, snr, with_noise};
/// use mercer::preimage::{Preimage, PreimageMethod};
/// use mercer::{Kernel, KernelPca, Watch};
///
/// let clean: Vec<f64> = (0..32 * 32).map(|at| f64::from(u8::from(at % 32 / 4 % 2 == 0))).collect();
/// let noisy = Image::new(with_noise(&clean, 0.2, 0), 32, 32, 1)?;
/// let mut patchwork = Patchwork::new(&noisy, Grid::new(6, 1)?);
/// for part in patchwork.parts(2)? {
///     let patches = patchwork.patches(&part)?;
///     let model = KernelPca::new(Kernel::gaussian(0.1)?).n_components(4).fit(&patches)?;
///     let found = Preimage::new(PreimageMethod::FixedPoint).of_points(&model, &patches, &Watch::new())?;
///     patchwork.put(&part, found.points.as_ref())?;
/// }
/// assert!(snr(&clean, patchwork.image()?.values())? > snr(&clean, noisy.values())? + 3.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct Patchwork<'a> {
    image: &'a Image,
    grid: Grid,
    overlap: Overlap,
}

impl<'a> Patchwork<'a> {
    /// Nothing put in its place yet.
    pub fn new(image: &'a Image, grid: Grid) -> Self {
        Self { image, grid, overlap: Overlap::new(image) }
    }

    /// `per_side²` parts in rows from the top left, evenly spread. Each is that share of the picture and half a patch longer, so that what lies
    /// on the border between two is seen by both.
    ///
    /// # Errors
    ///
    /// If there would be no part, or one that is smaller than a patch.
    pub fn parts(&self, per_side: usize) -> Result<Vec<Part>> {
        let along = |length: usize| -> Result<Vec<Range<usize>>> {
            let most = length / self.grid.size();
            if per_side == 0 || per_side > most {
                let requirement = format!("between 1 and {most}, or a part of {length} pixels is smaller than a patch");
                return Err(Error::invalid("per_side", requirement, per_side));
            }
            let long = (length / per_side + self.grid.size() / 2).min(length);
            let start = |i: usize| i * (length - long) / (per_side - 1).max(1);
            Ok((0..per_side).map(|i| start(i)..start(i) + long).collect())
        };
        let (rows, columns) = (along(self.image.height())?, along(self.image.width())?);
        let part = |rows: &Range<usize>, columns: &Range<usize>| Part { rows: rows.clone(), columns: columns.clone() };
        Ok(rows.iter().flat_map(|rows| columns.iter().map(move |columns| part(rows, columns))).collect())
    }

    /// The patches of a part, one row each.
    ///
    /// # Errors
    ///
    /// If the part is not in the picture, or smaller than a patch.
    pub fn patches(&self, part: &Part) -> Result<Points> {
        let patches = self.of(part)?;
        patches.take(self.image, 0..patches.len()).map(|(points, _)| points)
    }

    /// Puts other patches in the place of those of a part.
    ///
    /// # Errors
    ///
    /// As [`patches`](Self::patches), or if there is not one row of as many numbers for each of them.
    pub fn put(&mut self, part: &Part, found: MatRef<'_, f64>) -> Result<()> {
        let patches = self.of(part)?;
        if (found.nrows(), found.ncols()) != (patches.len(), patches.n_features()) {
            let requirement = format!("{} rows of {} numbers", patches.len(), patches.n_features());
            return Err(Error::invalid("patches", requirement, format!("{} of {}", found.nrows(), found.ncols())));
        }
        let means = vec![0.0; self.image.channels()];
        for patch in 0..patches.len() {
            self.overlap.add(&patches, patch, found.row(patch).iter().copied(), &means);
        }
        Ok(())
    }

    /// The mean at every pixel of the patches that were put there.
    ///
    /// # Errors
    ///
    /// If a pixel is in no patch.
    pub fn image(self) -> Result<Image> {
        if let Some(at) = self.overlap.uncovered() {
            let pixel = at / self.image.channels();
            let (row, column) = (pixel / self.image.width(), pixel % self.image.width());
            return Err(Error::invalid(
                "parts",
                "such that every pixel is in a patch",
                format!("none at {row}, {column}"),
            ));
        }
        Ok(self.overlap.mean(self.image))
    }

    fn of(&self, part: &Part) -> Result<Patches> {
        Patches::of_part(self.image, self.grid, (&part.rows, &part.columns))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "what cannot be taken fails the test")]
mod tests {
    use super::super::patches::tests::image;
    use super::*;

    #[test]
    fn parts_that_are_put_back_are_the_picture_at_every_shape() {
        for (height, width, channels, per_side, size, stride) in
            [(20, 33, 1, 2, 5, 2), (17, 12, 3, 1, 4, 3), (64, 40, 1, 4, 7, 2)]
        {
            let image = image(height, width, channels);
            let mut patchwork = Patchwork::new(&image, Grid::new(size, stride).unwrap());
            let parts = patchwork.parts(per_side).unwrap();
            assert_eq!(parts.len(), per_side * per_side);
            for part in &parts {
                let patches = patchwork.patches(part).unwrap();
                assert_eq!(patches.n_features(), size * size * channels);
                let rows = faer::Mat::from_fn(patches.n_samples(), patches.n_features(), |i, k| patches.row(i)[k]);
                patchwork.put(part, rows.as_ref()).unwrap();
            }
            let again = patchwork.image().unwrap();
            assert!(again.values().iter().zip(image.values()).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn a_patch_is_the_pixels_at_its_place() {
        let image = image(9, 8, 1);
        let patchwork = Patchwork::new(&image, Grid::new(3, 2).unwrap());
        let patches = patchwork.patches(&Part { rows: 2..9, columns: 1..6 }).unwrap();
        // Rows 2, 4, 6 and columns 1, 3: the fourth patch begins at 4, 3.
        assert_eq!(patches.n_samples(), 6);
        let expected: Vec<f64> =
            (4..7).flat_map(|row| (3..6).map(move |column| (row, column))).map(|(r, c)| image.at(r, c, 0)).collect();
        assert_eq!(patches.row(3), expected);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let image = image(20, 20, 1);
        let mut patchwork = Patchwork::new(&image, Grid::new(6, 2).unwrap());
        let said = |error: Error| error.to_string();
        assert!(said(patchwork.parts(4).unwrap_err()).contains("`per_side` must be between 1 and 3"));
        assert!(said(patchwork.parts(0).unwrap_err()).contains("`per_side`"));
        let outside = Part { rows: 0..21, columns: 0..20 };
        assert!(said(patchwork.patches(&outside).unwrap_err()).contains("`part` must be inside the 20 pixels"));
        let inside = Part { rows: 0..8, columns: 0..20 };
        let wrong = faer::Mat::<f64>::zeros(3, 36);
        assert!(
            said(patchwork.put(&inside, wrong.as_ref()).unwrap_err())
                .contains("`patches` must be 16 rows of 36 numbers")
        );
        assert!(said(patchwork.image().unwrap_err()).contains("none at 0, 0"));
    }
}
