//! Digits of MNIST, whole or one pixel of four.

use mercer::Points;

use super::super::stage::Stage;
use crate::failure::{Failure, InputError, Result};

/// The file in the data folder, and pixels along a side of a picture.
const FILE: &str = "mnist.npz";
const SIDE: usize = 28;
const CLASSES: usize = 10;

/// Pictures as they come, and what they show.
pub(super) struct Digits {
    pictures: Points,
    labels: Vec<usize>,
    name: String,
}

/// Pictures to learn from, others that are held out, of which some are reconstructed and all classified; the largest norm of the first is one.
pub(super) struct Set {
    /// Pixels along a side.
    pub(super) side: usize,
    pub(super) learned: Points,
    pub(super) held_out: Points,
    pub(super) classified: Points,
    /// The digits of those to classify.
    pub(super) labels: Vec<usize>,
}

/// How many pictures of every digit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) learned: usize,
    pub(super) held_out: usize,
    pub(super) classified: usize,
}

impl Digits {
    pub(super) fn read(stage: &Stage<'_>) -> Result<Self> {
        let data = stage.read(FILE, Some(1.0 / 255.0))?;
        let wrong = |problem: String| Failure::from(InputError::new(&data.name, problem));
        if data.points.n_features() != SIDE * SIDE {
            let found = data.points.n_features();
            return Err(wrong(format!("pictures have {found} pixels instead of {}", SIDE * SIDE)));
        }
        let words = data.labels.as_ref().map(|labels| labels.values.clone()).unwrap_or_default();
        let digit = |word: &String| word.parse::<usize>().ok().filter(|&digit| digit < CLASSES);
        let labels: Option<Vec<usize>> = words.iter().map(digit).collect();
        let labels = labels.ok_or_else(|| wrong("a label is not a digit from 0 to 9".to_owned()))?;
        Ok(Self { pictures: data.points, labels, name: data.name })
    }

    /// The first pictures of every digit to learn from, and the next ones held out.
    pub(super) fn set(&self, sizes: Sizes, is_quarter: bool) -> Result<Set> {
        let needed = sizes.learned + sizes.held_out.max(sizes.classified);
        let mut chosen = [const { Vec::new() }; 3];
        for digit in 0..CLASSES {
            let rows: Vec<usize> = (0..self.labels.len()).filter(|&row| self.labels[row] == digit).collect();
            if rows.len() < needed {
                let problem =
                    format!("there are {} pictures of the digit {digit}, not the {needed} needed", rows.len());
                return Err(InputError::new(&self.name, problem).into());
            }
            let (learned, others) = rows.split_at(sizes.learned);
            let parts = [learned, &others[..sizes.held_out], &others[..sizes.classified]];
            chosen.iter_mut().zip(parts).for_each(|(chosen, part)| chosen.extend_from_slice(part));
        }
        for rows in &mut chosen {
            rows.sort_unstable();
        }
        let step = if is_quarter { 2 } else { 1 };
        let [learned, held_out, classified] = &chosen;
        let largest = self.values(learned, step).chunks_exact((SIDE / step).pow(2)).map(norm).fold(0.0, f64::max);
        if largest == 0.0 {
            return Err(InputError::new(&self.name, "all pictures are black").into());
        }
        let points = |rows: &[usize]| -> Result<Points> {
            let values: Vec<f32> = self.values(rows, step).iter().map(|x| (x / largest) as f32).collect();
            Ok(Points::from_f32(values, rows.len(), (SIDE / step).pow(2))?)
        };
        Ok(Set {
            side: SIDE / step,
            learned: points(learned)?,
            held_out: points(held_out)?,
            classified: points(classified)?,
            labels: classified.iter().map(|&row| self.labels[row]).collect(),
        })
    }

    /// The pixels of some pictures, one of `step²` of each.
    fn values(&self, rows: &[usize], step: usize) -> Vec<f64> {
        let pixels: Vec<usize> =
            (0..SIDE).step_by(step).flat_map(|y| (0..SIDE).step_by(step).map(move |x| y * SIDE + x)).collect();
        rows.iter()
            .flat_map(|&row| {
                let picture = self.pictures.row(row);
                pixels.iter().map(move |&pixel| picture[pixel]).collect::<Vec<f64>>()
            })
            .collect()
    }
}

fn norm(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(each: usize) -> Digits {
        let rows = CLASSES * each;
        let pixel = |at: usize| ((at / 784 * 7 + at % 784) % 251) as u8;
        let pictures =
            Points::from_u8((0..rows * 784).map(pixel).collect::<Vec<u8>>(), rows, 784, 1.0 / 255.0).unwrap();
        Digits { pictures, labels: (0..rows).map(|row| row % CLASSES).collect(), name: "digits".to_owned() }
    }

    #[test]
    fn none_is_held_out_that_was_learned_from_and_the_largest_norm_is_one() {
        let set = digits(6).set(Sizes { learned: 3, held_out: 2, classified: 3 }, true).unwrap();
        assert_eq!((set.side, set.learned.n_features()), (14, 196));
        assert_eq!([&set.learned, &set.held_out, &set.classified].map(Points::n_samples), [30, 20, 30]);
        let largest = (0..30).map(|i| norm(&set.learned.row(i))).fold(0.0, f64::max);
        assert!((largest - 1.0).abs() < 1e-6, "{largest}");
        assert_eq!(set.labels[..20], (0..20).map(|row| row % 10).collect::<Vec<_>>());
        assert_eq!(set.held_out.row(3), set.classified.row(3));
        assert!((0..30).all(|i| set.learned.row(i) != set.held_out.row(0)));
        // The second pixel of the second row that is kept is that of row 2, column 2.
        let ratio = set.learned.row(0)[14 + 1] / set.learned.row(0)[1];
        let expected = f64::from(2_u8 * 28 + 2) / 2.0;
        assert!((ratio - expected).abs() < 1e-4 * expected, "{ratio}");
        assert!(digits(6).set(Sizes { learned: 3, held_out: 2, classified: 4 }, false).is_err());
    }
}
