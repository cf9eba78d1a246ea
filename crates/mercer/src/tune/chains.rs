//! Inverse widths arranged so that few exponentials serve all of them.

use crate::tile::Chain;

/// Gaussian kernels at some inverse widths and at twice each of them, whose sums are the sums of squares of the first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chains {
    pub(super) all: Vec<Chain>,
    /// For each inverse width asked for, the place of its sums and of those of twice it.
    pub(super) places: Vec<(usize, usize)>,
    /// Sums in all.
    pub(super) n_kernels: usize,
}

/// Two inverse widths are the same if they differ by no more than a few roundings.
fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 32.0 * f64::EPSILON * a.max(b)
}

impl Chains {
    /// The chains of some inverse widths.
    pub(super) fn new(gammas: &[f64]) -> Self {
        let mut all: Vec<f64> = gammas.iter().flat_map(|&gamma| [gamma, 2.0 * gamma]).collect();
        all.sort_by(f64::total_cmp);
        all.dedup_by(|a, b| is_same(*a, *b));
        let find = |gamma: f64| {
            let near = all.partition_point(|&x| x < gamma);
            (near.saturating_sub(1)..(near + 2).min(all.len())).find(|&index| is_same(all[index], gamma))
        };
        let mut place = vec![usize::MAX; all.len()];
        let mut chains = Vec::new();
        let mut next = 0;
        for start in 0..all.len() {
            if place[start] != usize::MAX {
                continue;
            }
            // Twice the width as it is kept, not as it was asked for: a chain doubles from its start.
            let mut run = vec![start];
            while let Some(double) = run.last().and_then(|&last| find(2.0 * all[last]))
                && place[double] == usize::MAX
                && !run.contains(&double)
            {
                run.push(double);
            }
            chains.push(Chain { gamma: all[start], length: run.len(), first: next });
            for link in run {
                place[link] = next;
                next += 1;
            }
        }
        let known = |gamma: f64| place[find(gamma).expect("every width asked for is in the list")];
        let places = gammas.iter().map(|&gamma| (known(gamma), known(2.0 * gamma))).collect();
        Self { all: chains, places, n_kernels: next }
    }
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
            let chains = Chains::new(&gammas);
            for (&gamma, &(one, double)) in gammas.iter().zip(&chains.places) {
                assert!(is_same(gamma_at(&chains, one), gamma), "{gammas:?}");
                assert!(is_same(gamma_at(&chains, double), 2.0 * gamma), "{gammas:?}");
            }
            assert_eq!(chains.n_kernels, chains.all.iter().map(|chain| chain.length).sum::<usize>());
        }
    }

    #[test]
    fn a_grid_of_octaves_is_as_many_chains_as_there_are_widths_in_an_octave() {
        let gammas: Vec<f64> =
            (0..64).map(|j| 2.0_f64.powf(f64::from(j % 4) / 4.0) * f64::from(1 << (j / 4))).collect();
        let chains = Chains::new(&gammas);
        assert_eq!(chains.n_kernels, 68);
        assert_eq!(chains.all.iter().map(|chain| chain.length).collect::<Vec<_>>(), [17; 4]);
    }
}
