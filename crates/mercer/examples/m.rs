use mercer::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let path = &a[1];
    let n: usize = a[2].parse().unwrap();
    let d: usize = a[3].parse().unwrap();
    let bytes = std::fs::read(path).unwrap();
    let bytes = bytes[bytes.len() - 60000 * d..][..n * d].to_vec();
    let u8mode = a[4] == "u8";
    let pts = if u8mode {
        Points::from_u8(bytes, n, d, 1.0 / 255.0).unwrap()
    } else if a[4] == "f64" {
        Points::from_f64(bytes.iter().map(|&x| x as f64 / 255.0).collect::<Vec<_>>(), n, d).unwrap()
    } else {
        Points::from_f32(bytes.iter().map(|&x| x as f32 / 255.0).collect::<Vec<_>>(), n, d).unwrap()
    };
    let m = KernelPca::new(Kernel::gaussian(1.0 / 128.0).unwrap())
        .n_components(50)
        .gram(a[5].parse().unwrap())
        .solver(a.get(6).map_or("auto", |x| x.as_str()).parse().unwrap())
        .tolerance(1e-4)
        .fit(&pts)
        .unwrap();
    let r = m.record();
    println!(
        "{} {} block {} sample {} passes {} products {} conv {} maxres {:.1e} secs {:?} peak {:.0}MB lam {:?} expected {:.1}",
        r.gram,
        r.solver,
        r.plan.block,
        r.plan.start_sample,
        r.passes,
        r.products,
        r.converged,
        r.residuals.iter().copied().fold(0.0, f64::max),
        r.seconds,
        r.peak_memory_bytes as f64 / 1e6,
        &r.eigenvalues[..3],
        r.plan.expected_seconds
    );
    println!("warn {:?} total {} evr {}", r.warnings, r.total_variance, r.explained_variance_ratio.iter().sum::<f64>());
}
