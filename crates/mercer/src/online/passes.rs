//! Passes over the expansions, in the vectors of the machine.
//!
//! Plain loops over arrays of [`LANES`] numbers: the compiler turns them into vectors of the instruction set that the job is run on, and
//! sums have the same order on all of them.

use crate::simd::{Isa, Job, Target};

use super::memory::Memory;
use super::update::{Place, Update};

/// Numbers that are worked on together; what is left over goes one by one.
const LANES: usize = 8;

/// The inner products of expansions with a row of kernel values.
pub(super) fn products<'a>(isa: Isa, expansions: impl Iterator<Item = &'a Vec<f64>>, k: &[f64]) -> Vec<f64> {
    isa.run(Products { expansions, k })
}

struct Products<'k, I> {
    expansions: I,
    k: &'k [f64],
}

impl<'a, I: Iterator<Item = &'a Vec<f64>>> Job for Products<'_, I> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<G: Target>(self) -> Vec<f64> {
        let mut products = Vec::with_capacity(self.expansions.size_hint().0);
        for expansion in self.expansions {
            products.push(product(expansion, self.k));
        }
        products
    }
}

/// An inner product in two times [`LANES`] chains of sums, which need not wait for one another.
#[inline(always)]
fn product(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    let mut sums = [0.0; 2 * LANES];
    let (xs, ys) = (x.chunks_exact(2 * LANES), y.chunks_exact(2 * LANES));
    let mut rest = 0.0;
    for (x, y) in xs.remainder().iter().zip(ys.remainder()) {
        rest += x * y;
    }
    for (x, y) in xs.zip(ys) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    let mut half = LANES;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0] + rest
}

/// The mean and all components after an update.
pub(super) fn apply(memory: &mut Memory, update: &Update, place: &Place) {
    let isa = memory.isa;
    isa.run(Apply { memory, update, place });
}

struct Apply<'a> {
    memory: &'a mut Memory,
    update: &'a Update,
    place: &'a Place,
}

impl Job for Apply<'_> {
    type Output = ();

    /// `m ← (1 − r) m + r φ`, then for all components from the first on `w_p ← keep_p w_p − take_p Σ_{j<p} y_j w_j + gain_p (φ − m)`, some
    /// slots at a time, so that the running sum stays in registers.
    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { memory, update, place } = self;
        let n = memory.mean.len();
        if update.share > 0.0 {
            let keep = 1.0 - update.share;
            for mean in &mut memory.mean {
                *mean *= keep;
            }
            place.add(&mut memory.mean, update.share);
        }
        let mut first = 0;
        while first + LANES <= n {
            slots::<LANES>(&mut memory.components, &memory.mean, update, place, first);
            first += LANES;
        }
        while first < n {
            slots::<1>(&mut memory.components, &memory.mean, update, place, first);
            first += 1;
        }
        if let Place::Slot { slot, .. } = place {
            for (component, gain) in memory.components.iter_mut().zip(&update.gain) {
                component[*slot] += gain;
            }
        }
    }
}

/// The update of `N` slots of all components, from `first` on; a row that has a slot of its own is added elsewhere.
#[inline(always)]
fn slots<const N: usize>(components: &mut [Vec<f64>], mean: &[f64], update: &Update, place: &Place, first: usize) {
    // φ − m, as far as it is in these slots. Without centring there is no mean.
    let mut centered = [0.0; N];
    if update.share > 0.0 {
        for (c, mean) in centered.iter_mut().zip(&mean[first..first + N]) {
            *c = -mean;
        }
    }
    if let Place::Combination { coefficients, .. } = place {
        for (c, coefficient) in centered.iter_mut().zip(&coefficients[first..first + N]) {
            *c += coefficient;
        }
    }
    let mut before = [0.0; N];
    for (p, component) in components.iter_mut().enumerate() {
        let (keep, take, gain, y) = (update.keep[p], update.take[p], update.gain[p], update.outputs[p]);
        let alphas = &mut component[first..first + N];
        for i in 0..N {
            let old = alphas[i];
            alphas[i] = keep * old - take * before[i] + gain * centered[i];
            before[i] += y * old;
        }
    }
}

/// The squared length of every slot's coefficients over all components.
pub(super) fn weights(memory: &Memory) -> Vec<f64> {
    let mut weights = vec![0.0; memory.mean.len()];
    memory.isa.run(Weights { components: &memory.components, weights: &mut weights });
    weights
}

struct Weights<'a> {
    components: &'a [Vec<f64>],
    weights: &'a mut [f64],
}

impl Job for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        for component in self.components {
            for (weight, alpha) in self.weights.iter_mut().zip(component) {
                *weight += alpha * alpha;
            }
        }
    }
}

/// Adds what is lost with a row to what expresses it: `expansion += lost · coefficients` for each expansion.
pub(super) fn spread(memory: &mut Memory, lost: &[f64], coefficients: &[f64]) {
    let isa = memory.isa;
    for (expansion, &lost) in memory.expansions().zip(lost) {
        isa.run(Spread { expansion, lost, coefficients });
    }
}

struct Spread<'a> {
    expansion: &'a mut [f64],
    lost: f64,
    coefficients: &'a [f64],
}

impl Job for Spread<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        for (x, coefficient) in self.expansion.iter_mut().zip(self.coefficients) {
            *x += self.lost * coefficient;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_product_has_all_its_terms() {
        for n in [0, 1, 7, 8, 15, 16, 17, 40, 47] {
            let x: Vec<f64> = (0..n).map(|i| f64::from(i) - 3.0).collect();
            let y: Vec<f64> = (0..n).map(|i| f64::from(i % 5)).collect();
            let want: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            for isa in Isa::available() {
                let found = products(isa, [&x, &y].into_iter(), &y)[0];
                // Whole numbers: nothing is rounded.
                assert!((found - want).abs() < f64::MIN_POSITIVE, "{n} terms, {isa:?}");
            }
        }
    }
}
