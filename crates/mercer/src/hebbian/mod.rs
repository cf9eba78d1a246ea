//! The kernel Hebbian algorithm: kernel PCA by iteration over single points.
//!
//! **Use it** for answers at any time, to go on from a model, or when points keep coming. For an exact answer
//! [`KernelPca`](crate::KernelPca) needs fewer passes.
//!
//! **Cost** of a pass: `n²` kernel entries and `n² r` multiply-adds (twice that with meta-descent). **Memory**: `4 n r` numbers in double
//! precision (twice that with meta-descent), some `20 r²` for small matrices, up to as many
//! numbers again for batches that are put off, one tile per thread, and kernel rows as far as a budget allows them to be kept.
//!
//! # Method
//!
//! With `y = A k'_p` for the sample `p`, an update is (numbers of \[GSV07\])
//!
//! ```text
//! Γ = y e_pᵀ − lt(y yᵀ) A          (16)     lt: diagonal and below
//! A ← A + D Γ                      (31)     D = diag(exp(ρ) η)
//! ```
//!
//! and rules that adapt their gains do before that
//!
//! ```text
//! ρ ← ρ + μ diag(Γ K' Bᵀ)          (32)
//! B ← ξ B + D (Γ + ξ dΓ)           (35)     dΓ = b e_pᵀ − lt(y yᵀ) B − lt(b yᵀ + y bᵀ) A,  b = B k'_p   (36)
//! ```
//!
//! One update at a time, each touches all `n` columns of `A` several times. But with `S = [A; B]` every update is
//! `S ← M S + w e_pᵀ`, with a small matrix `M` that depends on `S` only through `S k'_p` and small products (`step`). Over a batch of
//! samples `p₁ … p_b`, with `E` the columns `e_p` of its samples,
//!
//! ```text
//! S  ← T S + C Eᵀ
//! SK' ← T SK' + C K'_batch                   K'_batch = Eᵀ K': the b rows of the samples
//! ```
//!
//! where `T` is the product of the `M` and column `t` of `C` is `M_b ⋯ M_{t+1} w_t`. Within the batch `S k'` of the samples to come is
//! `(S K') E`, known at its start, and changes as `S k'_q ← M S k'_q + K'_pq w`. So a batch needs the kernel of its samples with each other,
//! runs its updates on small matrices (`batch`), and only then touches all points, once, while each tile of `K'_batch` is in the
//! cache (`engine`, `sweep`). `S K'` is always up to date: it gives `y`, eigenvalue estimates, error measures and the finished model without a
//! pass over the matrix of their own.
//!
//! Small products follow by the same algebra: `S K' Aᵀ`, which (32) and the test for divergence need, becomes
//! `M (S K' Aᵀ) M₁ᵀ + (M S k') w₁ᵀ + w (M₁ A k')ᵀ + K'_pp w w₁ᵀ`, where `M₁` and `w₁` are the part of `A`. For estimates at every
//! update, `A Aᵀ` and `A K' K' Aᵀ` follow in the same way from the columns `S e_p` and `S K' k'_p`, and from `k'ᵀ k'` between samples.
//!
//! `T` is folded into `S K'` at the end of every batch. Carrying it on to later batches would save that, but needs the inverse of `T`,
//! whose part of `B` shrinks like `ξᵇ`. What batches do to `S`, which nothing reads until the next refresh, is put off for several
//! batches and then done at once, without an inverse: the last batch needs no transform, the one before it that of the last, and so on.
//!
//! # Notation
//!
//! | here | \[GSV07\] | shape | meaning |
//! |---|---|---|---|
//! | `coefficients` | `A`, `B` | r × n each | expansion coefficients, and meta-descent's memory |
//! | `images` | `A K'`, `B K'` | r × n each | what they give for every point |
//! | `log_gains` | `ρ` | r | adapted part of the gains |
//! | `gains` | `η` | r | scheduled part of the gains |
//! | `eigenvalues` | `λ` | r | estimates (20) |
//! | `block` | — | b × b | `K'` between the samples of a batch |
//! | `panel` | — | 2r × … | what follows every update of a batch |
//!
//! # Numerics
//!
//! Coefficients, images, small matrices and their updates are in double precision. In the precision of the matrix are its entries, what centring
//! subtracts from them, and products of a tile with vectors, which are rounded to it before: those with `C`, those with the coefficients that a run
//! starts with, and, where estimates follow every update, `S K' k'` and `k'ᵀ k'`. What tiles give is summed in double precision. Small products are
//! computed anew from the large matrices at the beginning of every pass. The iterates are those of one update at a time up to rounding,
//! whatever the batch size; for one batch size they are the same bits on any number of threads, whether rows are kept or not.
//!
//! # References
//!
//! - \[GSV07\] Günter, Schraudolph, Vishwanathan, *Fast iterative kernel principal component analysis*, JMLR 8. Equation and
//!   algorithm numbers are those of the journal version.
mod batch;
mod checkpoint;
mod dying;
mod engine;
mod finish;
mod grow;
mod history;
mod keep;
mod learner;
mod metrics;
mod resume;
mod rows;
mod run;
mod schedule;
mod settings;
mod setup;
mod start;
mod state;
mod step;
mod sweep;
mod trial;
mod tune;

pub(crate) use checkpoint::KEY as CHECKPOINT_KEY;
pub use history::HistoryEntry;
pub use learner::HebbianLearner;
pub use metrics::excess_relative_error;
pub use schedule::GainParameters;
pub use settings::{KernelHebbianPca, RecordError, Start};
