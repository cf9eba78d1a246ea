//! Points in the order of their cells.

use super::spread::{Shape, Sorted};

/// Points by plane and row of their first nodes: a counting sort.
pub(super) fn sort(places: &[[f64; 3]], shape: Shape, width: usize) -> Sorted {
    let cell = |place: f64, touched: usize| {
        if touched > 1 { (place - 0.5 * width as f64).ceil() as usize } else { 0 }
    };
    let key = |place: &[f64; 3]| cell(place[0], shape.touched[0]) * shape.nodes[1] + cell(place[1], shape.touched[1]);
    let mut starts = vec![0_u32; shape.nodes[0] * shape.nodes[1] + 1];
    for place in places {
        starts[key(place) + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let slabs = (0..=shape.n_slabs())
        .map(|slab| starts[(slab * shape.slab).min(shape.nodes[0]) * shape.nodes[1]] as usize)
        .collect();
    let mut order = vec![0; places.len()];
    let mut next = starts;
    for (row, place) in places.iter().enumerate() {
        let at = &mut next[key(place)];
        order[*at as usize] = row as u32;
        *at += 1;
    }
    let places = order.iter().map(|&row| places[row as usize]).collect();
    let mut ranks = vec![0; order.len()];
    for (rank, &row) in order.iter().enumerate() {
        ranks[row as usize] = rank as u32;
    }
    Sorted { places, order, ranks, slabs }
}
