//! Inverse widths arranged so that few exponentials serve all of them.

use crate::tile::Chain;

/// Gaussian kernels at some inverse widths, in chains in which those double.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chains {
    pub(super) all: Vec<Chain>,
    /// The inverse widths, in increasing order, and the place of the sums of each.
    gammas: Vec<f64>,
    places: Vec<usize>,
}

/// Two inverse widths are the same if they differ by no more than a few roundings.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 32.0 * f64::EPSILON * a.max(b)
}

impl Chains {
    /// The chains of some inverse widths.
    pub(super) fn new(mut gammas: Vec<f64>) -> Self {
        gammas.sort_by(f64::total_cmp);
        gammas.dedup_by(|a, b| is_same(*a, *b));
        let mut places = vec![usize::MAX; gammas.len()];
        let mut all = Vec::new();
        let mut next = 0;
        for start in 0..gammas.len() {
            if places[start] != usize::MAX {
                continue;
            }
            // Twice the width as it is kept, not as it was asked for: a chain doubles from its start.
            let mut run = vec![start];
            while let Some(double) = run.last().and_then(|&last| find(&gammas, 2.0 * gammas[last]))
                && places[double] == usize::MAX
                && !run.contains(&double)
            {
                run.push(double);
            }
            all.push(Chain { gamma: gammas[start], length: run.len(), first: next });
            for link in run {
                places[link] = next;
                next += 1;
            }
        }
        Self { all, gammas, places }
    }

    /// The chains of some inverse widths and of twice each of them, whose sums are the sums of squares of the first.
    pub(super) fn with_doubles(gammas: &[f64]) -> Self {
        Self::new(gammas.iter().flat_map(|&gamma| [gamma, 2.0 * gamma]).collect())
    }

    /// Kernels in all.
    pub(super) fn n_kernels(&self) -> usize {
        self.gammas.len()
    }

    /// The place of the sums of an inverse width, which must be one of those in the chains.
    pub(super) fn place(&self, gamma: f64) -> usize {
        self.places[find(&self.gammas, gamma).expect("every width asked for is in the list")]
    }
}

/// Where an inverse width stands in a list in increasing order.
fn find(gammas: &[f64], gamma: f64) -> Option<usize> {
    let near = gammas.partition_point(|&x| x < gamma);
    (near.saturating_sub(1)..(near + 2).min(gammas.len())).find(|&index| is_same(gammas[index], gamma))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gamma_at(chains: &Chains, place: usize) -> f64 {
        let chain = chains.all.iter().find(|c| (c.first..c.first + c.length).contains(&place)).expect("a chain");
        chain.gamma * 2.0_f64.powi(i32::try_from(place - chain.first).expect("short"))
    }

    #[test]
    fn every_width_and_its_double_has_a_place() {
        let octaves: Vec<f64> =
            (0..40).map(|j| 0.3 * 2.0_f64.powf(f64::from(j % 3) / 3.0) * f64::from(1 << (j / 3))).collect();
        for gammas in [vec![1.0], vec![1.0, 1.0], vec![4.0, 0.1, 2.0, 1.0, 7.0], octaves] {
            let chains = Chains::with_doubles(&gammas);
            for gamma in gammas.iter().flat_map(|&gamma| [gamma, 2.0 * gamma]) {
                assert!(is_same(gamma_at(&chains, chains.place(gamma)), gamma), "{gammas:?}");
            }
            assert_eq!(chains.n_kernels(), chains.all.iter().map(|chain| chain.length).sum::<usize>());
        }
    }

    #[test]
    fn a_grid_of_octaves_is_as_many_chains_as_there_are_widths_in_an_octave() {
        let gammas: Vec<f64> =
            (0..64).map(|j| 2.0_f64.powf(f64::from(j % 4) / 4.0) * f64::from(1 << (j / 4))).collect();
        let chains = Chains::with_doubles(&gammas);
        assert_eq!(chains.n_kernels(), 68);
        assert_eq!(chains.all.iter().map(|chain| chain.length).collect::<Vec<_>>(), [17; 4]);
    }
}
