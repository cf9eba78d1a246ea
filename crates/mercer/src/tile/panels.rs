//! Points packed for the tile engine.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::lay::{PanelRows, lay};
use super::{Geometry, factor_of, has_room};
use crate::data::{Points, RowsRef, middle};
use crate::error::{Error, Result};
use crate::kernel::Pairing;
use crate::memory::{Buffer, Plain};
use crate::scalar::Scalar;
use crate::simd::{ByteLanes, Isa, Job, Lanes, Target};
use crate::watch::{Phase, Watch, is_on_a_pool};

/// What is done to points before they are packed; new points must be treated as the old ones were.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packing {
    pub(crate) pairing: Pairing,
    /// What the scalar of a pair is multiplied by.
    pub(crate) scale: f64,
    /// What is subtracted from every point. Squared distances are made of norms and inner products, which
    /// cancel for data far from the origin; distances themselves do not change.
    pub(crate) offset: Option<Vec<f64>>,
    /// The columns that are packed, where not all are.
    columns: Option<Vec<usize>>,
}

impl Packing {
    /// The packing of all columns for a pairing and a scale, given a place in the middle of the points.
    #[cfg(test)]
    pub(crate) fn new(pairing: Pairing, scale: f64, middle: &[f64]) -> Self {
        Self { pairing, scale, offset: pairing.is_translation_invariant().then(|| middle.to_vec()), columns: None }
    }

    /// The packing of `points` for a pairing and a scale.
    ///
    /// Columns in which all of them are the same (the margins of pictures, categories that do not occur) say nothing of any pair, and are left
    /// out. New points may differ there: by as much in all pairs, which is a part of their own norms.
    pub(crate) fn of(pairing: Pairing, scale: f64, points: &Points) -> Self {
        let mut offset = pairing.is_translation_invariant().then(|| middle(points));
        // Absolute differences have no norms to be a part of.
        if pairing == Pairing::ManhattanDistance || points.n_samples() == 0 {
            return Self { pairing, scale, offset, columns: None };
        }
        let first = points.row(0);
        let mut constant = points.constant_columns();
        match &mut offset {
            // Exactly, so that what is packed is zero.
            Some(offset) => constant.iter().for_each(|&column| offset[column] = first[column]),
            None => constant.retain(|&column| first[column] == 0.0),
        }
        let mut varies = vec![true; points.n_features()];
        for &column in &constant {
            varies[column] = false;
        }
        let mut columns: Vec<usize> = (0..varies.len()).filter(|&column| varies[column]).collect();
        if columns.is_empty() {
            columns.push(0);
        }
        let columns = (columns.len() < varies.len()).then_some(columns);
        Self { pairing, scale, offset, columns }
    }

    /// The columns that are left out of points of `n_features` bytes times `scale`, with the byte that the others have there.
    fn constant_bytes(&self, n_features: usize, scale: f64) -> Vec<(usize, i32)> {
        let (Some(columns), Some(offset)) = (&self.columns, &self.offset) else { return Vec::new() };
        let mut kept = columns.iter().copied().peekable();
        let is_left_out = |column: &usize| kept.next_if_eq(column).is_none();
        (0..n_features).filter(is_left_out).map(|column| (column, (offset[column] / scale).round() as i32)).collect()
    }

    /// How many of `n_features` columns are packed.
    pub(super) fn n_packed(&self, n_features: usize) -> usize {
        self.columns.as_ref().map_or(n_features, Vec::len)
    }

    /// Applies the packing to a row.
    #[inline(always)]
    fn prepare(&self, row: &mut [f64]) {
        if self.pairing == Pairing::Cosine {
            // By the largest coordinate first, so that no square overflows or vanishes.
            for norm in [largest, euclidean] {
                let norm = norm(row);
                if norm > 0.0 {
                    for x in row.iter_mut() {
                        *x /= norm;
                    }
                }
            }
        }
        let factor = factor_of(self.pairing, self.scale);
        match &self.offset {
            // At once, in one way through the row: cosines, whose lengths are taken above, have no offset.
            Some(offset) => row.iter_mut().zip(offset).for_each(|(x, o)| *x = (*x - o) * factor),
            None => {
                for x in row.iter_mut() {
                    *x *= factor;
                }
            }
        }
    }
}

fn largest(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |m, x| m.max(x.abs()))
}

fn euclidean(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Points in floating point: panel by panel, within a panel feature by feature, one number per row.
pub(crate) struct Panels<T> {
    pub(super) values: Buffer<T>,
    /// Where the sums of a row start: minus half the squared norm for squared distances, of the numbers as packed so that equal
    /// rows cancel; zero otherwise.
    pub(super) terms: Vec<T>,
    pub(super) n_features: usize,
    pub(super) geometry: Geometry,
}

impl<T: Scalar + Plain> Panels<T> {
    /// Packs points for `isa`.
    ///
    /// # Errors
    ///
    /// If a point is so large that its squared norm is not finite in this precision.
    pub(crate) fn pack(points: &Points, packing: &Packing, isa: Isa) -> Result<Self> {
        Self::pack_watched(points, packing, isa, &Watch::new())
    }

    /// As [`pack`](Self::pack), with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`pack`](Self::pack), and [`Error::Interrupted`] if it was stopped.
    pub(crate) fn pack_watched(points: &Points, packing: &Packing, isa: Isa, watch: &Watch<'_>) -> Result<Self> {
        let geometry = Geometry::of::<T>(isa);
        let (n, d, lanes) = (points.n_samples(), packing.n_packed(points.n_features()), geometry.lanes);
        let padded = geometry.padded(n);
        let mut values = Buffer::<T>::zeroed(padded * d);
        let mut terms = vec![T::default(); padded];
        let too_large = AtomicBool::new(false);
        for_each_panel((&mut values[..], lanes * d), (&mut terms[..], lanes), watch, |panel, values, terms| {
            if !isa.run(PackPanel { points, first: panel * lanes, packing, values, terms }) {
                too_large.store(true, Ordering::Relaxed);
            }
        })?;
        if too_large.into_inner() {
            return Err(overflow::<T>(points, packing));
        }
        Ok(Self { values, terms, n_features: d, geometry })
    }

    /// Room for `rows` points of which `n_features` coordinates are packed.
    pub(super) fn room(rows: usize, n_features: usize, isa: Isa) -> Self {
        let geometry = Geometry::of::<T>(isa);
        let padded = geometry.padded(rows);
        Self { values: Buffer::zeroed(padded * n_features), terms: vec![T::default(); padded], n_features, geometry }
    }

    /// Packs the points from row `first` on into the first `count` places, on this thread; places past the last point become zero.
    /// The same bits as [`pack`](Self::pack) gives.
    ///
    /// # Panics
    ///
    /// If there is no room for so many.
    pub(super) fn repack(&mut self, points: &Points, first: usize, count: usize, packing: &Packing, isa: Isa) {
        let (lanes, d) = (self.geometry.lanes, self.n_features);
        let panels =
            self.values[..count * d].chunks_exact_mut(lanes * d).zip(self.terms[..count].chunks_exact_mut(lanes));
        for (panel, (values, terms)) in panels.enumerate() {
            isa.run(PackPanel { points, first: first + panel * lanes, packing, values, terms });
        }
    }

    /// Whether every point can be packed in this precision: what [`pack_watched`](Self::pack_watched) checks, without keeping anything.
    pub(crate) fn check(points: &Points, packing: &Packing, isa: Isa, watch: &Watch<'_>) -> Result<()> {
        let (n, lanes) = (points.n_samples(), Geometry::of::<T>(isa).lanes);
        let d = packing.n_packed(points.n_features());
        let scratch = || (vec![T::default(); lanes * d], vec![T::default(); lanes]);
        let looks = Looks::new(watch, lanes * d);
        let fits = |(values, terms): &mut (Vec<T>, Vec<T>), panel: usize| {
            !looks.go_on(panel) || isa.run(PackPanel { points, first: panel * lanes, packing, values, terms })
        };
        let n_panels = n.div_ceil(lanes);
        let fits = if is_on_a_pool() {
            (0..n_panels).into_par_iter().map_init(scratch, fits).reduce(|| true, |a, b| a && b)
        } else {
            let mut scratch = scratch();
            (0..n_panels).all(|panel| fits(&mut scratch, panel))
        };
        looks.end()?;
        if fits { Ok(()) } else { Err(overflow::<T>(points, packing)) }
    }
}

/// Numbers that a thread packs between two looks at whether to stop, about: it takes milliseconds.
pub(super) const BETWEEN_LOOKS: usize = 1 << 20;

/// Looks whether to stop, now and then, while threads pack panels.
struct Looks<'a> {
    watch: &'a Watch<'a>,
    /// Panels from one look to the next.
    between: usize,
    is_stopped: AtomicBool,
}

impl<'a> Looks<'a> {
    /// For panels of so many numbers.
    fn new(watch: &'a Watch<'a>, n_values: usize) -> Self {
        Self { watch, between: BETWEEN_LOOKS / n_values + 1, is_stopped: AtomicBool::new(false) }
    }

    /// Whether the panel of this number is still wanted.
    fn go_on(&self, panel: usize) -> bool {
        if panel.is_multiple_of(self.between) && self.watch.is_stopped() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        !self.is_stopped.load(Ordering::Relaxed)
    }

    /// An error if not all panels were wanted.
    fn end(self) -> Result<()> {
        if self.is_stopped.into_inner() { Err(Error::Interrupted { phase: Phase::Packing.name() }) } else { Ok(()) }
    }
}

/// Calls `each` with the number, the values and the terms of every panel, of which one has as many of each as stand beside them: on all
/// threads of the pool that this thread belongs to, if there is one.
///
/// # Errors
///
/// [`Error::Interrupted`] if the watch says stop; panels are then left as they are.
pub(super) fn for_each_panel<A: Send, B: Send>(
    (values, n_values): (&mut [A], usize),
    (terms, n_terms): (&mut [B], usize),
    watch: &Watch<'_>,
    each: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<()> {
    let looks = Looks::new(watch, n_values);
    let unless_stopped = |panel: usize, values: &mut [A], terms: &mut [B]| {
        if looks.go_on(panel) {
            each(panel, values, terms);
        }
    };
    if is_on_a_pool() {
        let panels = values.par_chunks_exact_mut(n_values).zip(terms.par_chunks_exact_mut(n_terms));
        panels.enumerate().for_each(|(panel, (values, terms))| unless_stopped(panel, values, terms));
    } else {
        let panels = values.chunks_exact_mut(n_values).zip(terms.chunks_exact_mut(n_terms));
        panels.enumerate().for_each(|(panel, (values, terms))| unless_stopped(panel, values, terms));
    }
    looks.end()
}

/// Packs a panel of the points from row `first` on, and zeros where there are none; whether their squared norms are finite.
///
/// A job, because most of the way to the first tile of a fit is this. Every operation rounds by itself on all instruction sets, so they give the same
/// bits.
struct PackPanel<'a, T> {
    points: &'a Points,
    first: usize,
    packing: &'a Packing,
    values: &'a mut [T],
    terms: &'a mut [T],
}

impl<T: Scalar> Job for PackPanel<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<G: Target>(self) -> bool {
        let Self { points, first, packing, values, terms } = self;
        // The compiler knows it, unlike the number of terms.
        let lanes = <T::On<G> as Lanes>::COUNT;
        assert_eq!(terms.len(), lanes, "a panel has a row for each lane");
        let d = values.len() / lanes;
        let mut is_finite = true;
        // Row by row, and then laid side by side: numbers that go to one place in every panel's row are written one by one, and slowly.
        let mut packed = vec![T::default(); values.len()];
        let mut x = vec![0.0; points.n_features()];
        let mut whole = vec![T::default(); if packing.columns.is_some() { x.len() } else { 0 }];
        for (lane, (term, line)) in terms.iter_mut().zip(packed.chunks_exact_mut(d)).enumerate() {
            let row = first + lane;
            if row >= points.n_samples() {
                *term = T::default();
                continue;
            }
            points.rows(row..row + 1).copy_to_f64(&mut x);
            packing.prepare(&mut x);
            // The norm is that of all columns, packed or not.
            let sum = match &packing.columns {
                None => round(&x, line),
                Some(columns) => {
                    let sum = round(&x, &mut whole);
                    line.iter_mut().zip(columns).for_each(|(value, &column)| *value = whole[column]);
                    sum
                }
            };
            // Inner products of finite norms are finite, so this one check keeps NaN out of every tile.
            is_finite &= has_room::<T>(sum);
            *term = if packing.pairing == Pairing::SquaredDistance { T::from_f64(-0.5 * sum) } else { T::default() };
        }
        let mut rows = PanelRows::default();
        rows.iter_mut().zip(packed.chunks_exact(d)).for_each(|(row, line)| *row = Some(line));
        lay::<T::On<G>>(&rows, &PanelRows::default(), values);
        is_finite
    }
}

/// Rounds a row to what is stored, and gives the sum of squares of that: in four sums, which do not wait for one another.
#[inline(always)]
fn round<T: Scalar>(row: &[f64], stored: &mut [T]) -> f64 {
    let ((fours, rest), (stored_fours, stored_rest)) = (row.as_chunks::<4>(), stored.as_chunks_mut::<4>());
    let mut sums = [0.0; 4];
    for (four, stored) in fours.iter().zip(stored_fours) {
        round_some(four, stored, &mut sums);
    }
    round_some(rest, stored_rest, &mut sums);
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Rounds up to four numbers, and adds the square of each to its sum.
#[inline(always)]
fn round_some<T: Scalar>(numbers: &[f64], stored: &mut [T], sums: &mut [f64; 4]) {
    for ((&x, stored), sum) in numbers.iter().zip(stored).zip(sums) {
        *stored = T::from_f64(x);
        *sum += stored.to_f64() * stored.to_f64();
    }
}

/// One far point may move the middle away from all others, so the first row that overflows need not be the culprit: of those that do, it is the one with the
/// largest numbers. Where these are small, it is the middle that is far out, and the row with the largest numbers of all is.
fn overflow<T: Scalar>(points: &Points, packing: &Packing) -> Error {
    let middle = packing.offset.as_deref().map_or(0.0, largest);
    let mut stored = vec![T::default(); points.n_features()];
    let guilt = |row: usize| {
        let mut x = points.row(row);
        let size = largest(&x);
        packing.prepare(&mut x);
        (size >= middle && !has_room::<T>(round(&x, &mut stored)), size, row)
    };
    let most = (0..points.n_samples()).map(guilt).max_by(|a, b| {
        let (by_room, by_size) = (a.0.cmp(&b.0), a.1.total_cmp(&b.1));
        by_room.then(by_size).then(b.2.cmp(&a.2))
    });
    Error::TooLarge { row: most.map_or(0, |(.., row)| row), precision: T::PRECISION }
}

impl<T: Scalar> Panels<T> {
    /// Bytes that packing `n` points of `d` features takes.
    pub(crate) fn size(n: usize, d: usize, isa: Isa) -> u64 {
        let padded = Geometry::of::<T>(isa).padded(n) as u64;
        padded * (d as u64 + 1) * T::PRECISION.size() as u64
    }
}

/// Points that are bytes: panel by panel, within a panel in groups of features, each group row by row.
pub(crate) struct BytePanels {
    pub(super) values: Buffer<u8>,
    /// What is added to the accumulated products, from the side of the rows and from the side of the columns, to make
    /// the squared distance or the inner product.
    pub(super) row_terms: Vec<i32>,
    pub(super) column_terms: Vec<i32>,
    pub(super) scale: f64,
    pub(super) padded_features: usize,
}

impl BytePanels {
    /// Packs points that are bytes, for [`Pairing::SquaredDistance`] or [`Pairing::InnerProduct`].
    ///
    /// # Panics
    ///
    /// If the points are not bytes, in whatever guise.
    pub(crate) fn pack(points: &Points, packing: &Packing, isa: Isa) -> Self {
        Self::pack_watched(points, packing, isa, &Watch::new()).expect("nobody stops it")
    }

    /// As [`pack`](Self::pack), with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] if it was stopped.
    ///
    /// # Panics
    ///
    /// As [`pack`](Self::pack).
    pub(crate) fn pack_watched(points: &Points, packing: &Packing, isa: Isa, watch: &Watch<'_>) -> Result<Self> {
        let scale = points.tile_bytes().expect("byte panels need points that are bytes");
        match (points.rows(0..points.n_samples()), points.guise()) {
            (RowsRef::U8 { values, .. }, _) => Self::pack_bytes(values, |x| x, scale, points, packing, isa, watch),
            (RowsRef::F32(values), Some(guise)) => {
                Self::pack_bytes(values, |x| guise.byte(x), scale, points, packing, isa, watch)
            }
            _ => unreachable!("points that have a scale of bytes are such"),
        }
    }

    fn pack_bytes<V: Copy + Sync>(
        rows: &[V],
        byte: impl Fn(V) -> u8 + Sync,
        scale: f64,
        points: &Points,
        packing: &Packing,
        isa: Isa,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let geometry = Geometry::of::<f32>(isa);
        let (group, bias) = isa.run(ByteFormat);
        let interleave = if group == 4 { interleave::<4> } else { interleave::<2> };
        let (n, d, lanes) = (points.n_samples(), points.n_features(), geometry.lanes);
        let constants = packing.constant_bytes(d, scale);
        let (padded, padded_features) = (geometry.padded(n), packing.n_packed(d).next_multiple_of(group));
        let mut values = Buffer::<u8>::zeroed(padded * padded_features);
        let mut terms = vec![(0_i32, 0_i32); padded];
        let sizes = (lanes * padded_features, lanes);
        for_each_panel((&mut values[..], sizes.0), (&mut terms[..], sizes.1), watch, |panel, values, terms| {
            let (mut bytes, mut packed) = (vec![0; d], vec![0; padded_features]);
            let rows = rows.chunks_exact(d).skip(panel * lanes).zip(terms);
            for (lane, (row, terms)) in rows.enumerate() {
                bytes.iter_mut().zip(row).for_each(|(to, &x)| *to = byte(x));
                match &packing.columns {
                    None => packed[..d].copy_from_slice(&bytes),
                    Some(columns) => packed.iter_mut().zip(columns).for_each(|(to, &column)| *to = bytes[column]),
                }
                interleave(&packed, lane, lanes, values);
                let apart = constants.iter().map(|&(column, c)| (i32::from(bytes[column]) - c).pow(2));
                *terms = byte_terms(&packed, apart.sum(), bias, packing.pairing);
            }
        })?;
        let (row_terms, column_terms) = terms.into_iter().unzip();
        Ok(Self { values, row_terms, column_terms, scale, padded_features })
    }

    /// What a byte is multiplied by.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// Bytes that packing `n` points of `d` features takes.
    pub(crate) fn size(n: usize, d: usize, isa: Isa) -> u64 {
        let padded = Geometry::of::<f32>(isa).padded(n) as u64;
        padded * (d.next_multiple_of(isa.run(ByteFormat).0) as u64 + 8)
    }
}

/// Puts the bytes of one row among those of its panel, in groups.
fn interleave<const GROUP: usize>(row: &[u8], lane: usize, lanes: usize, panel: &mut [u8]) {
    let (groups, places) = (row.as_chunks::<GROUP>().0, panel.as_chunks_mut::<GROUP>().0);
    places.iter_mut().skip(lane).step_by(lanes).zip(groups).for_each(|(place, group)| *place = *group);
}

/// What is added to the accumulated products of a row, as a row and as a column; `apart` is its squared distance from the others in columns
/// that are not packed.
fn byte_terms(packed: &[u8], apart: i32, bias: i32, pairing: Pairing) -> (i32, i32) {
    let sum: i32 = packed.iter().map(|&x| i32::from(x)).sum();
    // What is accumulated is a = Σ x (y - bias), so <x, y> = a + bias Σ x.
    match pairing {
        Pairing::SquaredDistance => {
            let square = packed.iter().map(|&x| i32::from(x) * i32::from(x)).sum::<i32>() + apart;
            (square.wrapping_sub(sum.wrapping_mul(2 * bias)), square)
        }
        _ => (sum.wrapping_mul(bias), 0),
    }
}

/// Asks an instruction set for its grouping of bytes and its bias.
struct ByteFormat;

impl Job for ByteFormat {
    type Output = (usize, i32);
    #[inline(always)]
    fn run<G: Target>(self) -> (usize, i32) {
        (G::Bytes::GROUP, G::Bytes::BIAS)
    }
}
