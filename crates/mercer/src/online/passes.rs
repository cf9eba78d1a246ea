//! Passes over the expansions, in the vectors of the machine.
//!
//! Expansions are as long as whole panels of rows, and so whole vectors. What happens to a slot does not depend on the others, so
//! vectors are taken in twos as far as that goes; sums have an order that depends on the length of the expansions only.

use crate::simd::{Isa, Job, Lanes, Several, Target};

use super::memory::Memory;
use super::update::{Place, Update};

/// Sums that an inner product is made of, which need not wait for one another.
const CHAINS: usize = 4;
/// Numbers in the longest vector there is.
pub(super) const MOST_LANES: usize = 8;

/// Writes the inner products of expansions with a row of kernel values.
pub(super) fn products<'a>(
    isa: Isa,
    expansions: impl Iterator<Item = &'a Vec<f64>>,
    k: &[f64],
    products: &mut Vec<f64>,
) {
    products.clear();
    isa.run(Products { expansions, k, out: products });
}

/// The inner product of one expansion with a row of kernel values.
pub(super) fn product(isa: Isa, expansion: &[f64], k: &[f64]) -> f64 {
    isa.run(Product { expansion, k })
}

struct Product<'a> {
    expansion: &'a [f64],
    k: &'a [f64],
}

impl Job for Product<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<G: Target>(self) -> f64 {
        count(self.k.len());
        inner::<G::F64>(self.expansion, self.k)
    }
}

struct Products<'k, I> {
    expansions: I,
    k: &'k [f64],
    out: &'k mut Vec<f64>,
}

impl<'a, I: Iterator<Item = &'a Vec<f64>>> Job for Products<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        for expansion in self.expansions {
            count(self.k.len());
            self.out.push(inner::<G::F64>(expansion, self.k));
        }
    }
}

/// An inner product: a sum for each of [`CHAINS`] vectors of lanes, and what is left over one by one.
#[inline(always)]
fn inner<L: Lanes<Elem = f64>>(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    let mut sums = [L::splat(0.0); CHAINS];
    let (xs, ys) = (x.chunks_exact(CHAINS * L::COUNT), y.chunks_exact(CHAINS * L::COUNT));
    let mut rest = 0.0;
    for (x, y) in xs.remainder().iter().zip(ys.remainder()) {
        rest += x * y;
    }
    for (x, y) in xs.zip(ys) {
        for (chain, sum) in sums.iter_mut().enumerate() {
            let at = chain * L::COUNT;
            *sum = L::read(&x[at..]).mul_add(L::read(&y[at..]), *sum);
        }
    }
    let mut lanes = [0.0; MOST_LANES];
    ((sums[0] + sums[1]) + (sums[2] + sums[3])).write(&mut lanes);
    for lane in &lanes[..L::COUNT] {
        rest += lane;
    }
    rest
}

/// The mean and all components after an update.
pub(super) fn apply(memory: &mut Memory, update: &Update, place: Place<'_>) {
    let isa = memory.isa;
    isa.run(Apply { memory, update, place });
}

struct Apply<'a> {
    memory: &'a mut Memory,
    update: &'a Update,
    place: Place<'a>,
}

impl Job for Apply<'_> {
    type Output = ();

    /// `m ← (1 − r) m + r φ`, then for all components from the first on `w_p ← keep_p w_p − take_p Σ_{j<p} y_j w_j + gain_p (φ − m)`, some
    /// slots at a time, so that the running sum stays in registers.
    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { memory, update, place } = self;
        let (n, lanes) = (memory.mean.len(), <G::F64 as Lanes>::COUNT);
        count(n * (memory.components.len() + 1));
        if update.share > 0.0 {
            let keep = 1.0 - update.share;
            for mean in &mut memory.mean {
                *mean *= keep;
            }
            place.add(&mut memory.mean, update.share);
        }
        let mut first = 0;
        while first + 2 * lanes <= n {
            slots::<Several<G::F64, 2>>(&mut memory.components, &memory.mean, update, place, first);
            first += 2 * lanes;
        }
        while first < n {
            slots::<G::F64>(&mut memory.components, &memory.mean, update, place, first);
            first += lanes;
        }
        if let Place::Slot { slot, .. } = place {
            for (component, gain) in memory.components.iter_mut().zip(&update.gain) {
                component[slot] += gain;
            }
        }
    }
}

/// The update of a vector of slots of all components, from `first` on; a row that has a slot of its own is added elsewhere.
#[inline(always)]
fn slots<V: Lanes<Elem = f64>>(
    components: &mut [Vec<f64>],
    mean: &[f64],
    update: &Update,
    place: Place<'_>,
    first: usize,
) {
    // φ − m, as far as it is in these slots. Without centring there is no mean.
    let mut centered = V::splat(0.0);
    if let Place::Combination { coefficients, .. } = place {
        centered = V::read(&coefficients[first..]);
    }
    if update.share > 0.0 {
        centered = centered - V::read(&mean[first..]);
    }
    let mut before = V::splat(0.0);
    let numbers = update.keep.iter().zip(&update.take).zip(&update.gain).zip(&update.outputs);
    for (component, (((&keep, &take), &gain), &y)) in components.iter_mut().zip(numbers) {
        let alphas = &mut component[first..];
        let old = V::read(alphas);
        let new = V::splat(-take).mul_add(before, V::splat(gain) * centered);
        V::splat(keep).mul_add(old, new).write(alphas);
        before = V::splat(y).mul_add(old, before);
    }
}

/// Writes the squared length of every slot's coefficients over all components.
pub(super) fn weights(memory: &Memory, weights: &mut Vec<f64>) {
    weights.clear();
    weights.resize(memory.mean.len(), 0.0);
    memory.isa.run(Weights { components: &memory.components, weights });
}

struct Weights<'a> {
    components: &'a [Vec<f64>],
    weights: &'a mut [f64],
}

impl Job for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let lanes = <G::F64 as Lanes>::COUNT;
        count(self.weights.len() * self.components.len());
        for (at, weights) in self.weights.chunks_exact_mut(lanes).enumerate() {
            let mut sum = G::F64::splat(0.0);
            for component in self.components {
                let alphas = G::F64::read(&component[at * lanes..]);
                sum = alphas.mul_add(alphas, sum);
            }
            sum.write(weights);
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
        count(self.expansion.len());
        for (x, coefficient) in self.expansion.iter_mut().zip(self.coefficients) {
            *x += self.lost * coefficient;
        }
    }
}

/// A pass over so many coefficients is made; tests of what a step costs listen.
#[inline(always)]
pub(super) fn count(coefficients: usize) {
    #[cfg(test)]
    super::tests::listen(coefficients);
    let _ = coefficients;
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
                let found = product(isa, &x, &y);
                // Whole numbers: nothing is rounded.
                assert!((found - want).abs() < f64::MIN_POSITIVE, "{n} terms, {isa:?}");
            }
        }
    }
}
