//! The stored cases.

use faer::Mat;
use mercer::autoencoder::{AutoencoderKernelPca, Codec, Gradient, LinearPca, Optimizer, Sign, SpanChoice};
use mercer::{Center, Watch};
use mercer_testkit::reference::{autoencoder_decode, autoencoder_sample, forms_of_span};

use crate::support::{Array, close, given, matrices, mean_squared_error, row};

#[test]
fn the_slow_reference_gives_the_stored_cases() {
    let (a, b, x) =
        (Array::open("cohen_akpca", "in_A"), Array::open("cohen_akpca", "in_B"), Array::open("cohen_akpca", "in_x"));
    let flat = |m: &[Mat<f64>]| -> Vec<f64> { m.iter().flat_map(|m| (0..25).map(|at| m[(at / 5, at % 5)])).collect() };
    for p in 0..4 {
        let b = matrices(b.part(p), 5);
        let sample = autoencoder_sample(&matrices(a.part(p), 5), &b, x.part(p));
        close(&[sample.loss], Array::open("cohen_akpca", "out_loss").part(p), "loss");
        close(&sample.codes, Array::open("cohen_akpca", "out_code").part(p), "code");
        close(&flat(&sample.encoder), Array::open("cohen_akpca", "out_dA").part(p), "dA");
        close(&flat(&sample.decoder), Array::open("cohen_akpca", "out_dB").part(p), "dB");
        let mut decoded = autoencoder_decode(&b, &sample.codes);
        if decoded.iter().sum::<f64>() < 0.0 {
            for x in &mut decoded {
                *x = -*x;
            }
        }
        close(&decoded, Array::open("cohen_akpca", "out_decoded").part(p), "decoded");
    }
}

#[test]
fn losses_codes_and_decoded_points_are_those_of_the_stored_case() {
    let open = |name| Array::open("cohen_akpca", name);
    for p in 0..4 {
        let x = row(open("in_x").part(p));
        let model = AutoencoderKernelPca::new(3)
            .start(given(open("in_A").part(p), open("in_B").part(p)))
            .sign(Sign::Nonnegative)
            .epochs(0)
            .fit(&x)
            .unwrap();
        close(&model.losses(&x).unwrap(), open("out_loss").part(p), "loss");
        let codes = model.encode(&x).unwrap();
        close(&[codes[(0, 0)], codes[(0, 1)], codes[(0, 2)]], open("out_code").part(p), "code");
        let decoded = model.decode(codes.as_ref(), None).unwrap();
        close(&(0..5).map(|k| decoded[(0, k)]).collect::<Vec<_>>(), open("out_decoded").part(p), "decoded");
        close(&model.encoder(), open("in_A").part(p), "encoder");
        close(&model.decoder(), open("in_B").part(p), "decoder");
    }
}

#[test]
fn a_step_is_along_the_stored_derivatives() {
    let open = |name| Array::open("cohen_akpca", name);
    for p in 0..4 {
        let (a, b) = (open("in_A"), open("in_B"));
        let model = AutoencoderKernelPca::new(3)
            .start(given(a.part(p), b.part(p)))
            .scale(false)
            .learning_rate(0.5)
            .batch_size(1)
            .order(vec![vec![0]])
            .fit(&row(open("in_x").part(p)))
            .unwrap();
        let moved = |before: &[f64], after: &[f64]| -> Vec<f64> {
            before.iter().zip(after).map(|(x, y)| (x - y) / 0.5).collect()
        };
        close(&moved(a.part(p), &model.encoder()), open("out_dA").part(p), "dA");
        close(&moved(b.part(p), &model.decoder()), open("out_dB").part(p), "dB");
    }
}

#[test]
fn the_span_has_the_stored_losses_and_derivatives() {
    let open = |name| Array::open("cohen_ds", name);
    let points = open("in_X").points();
    let difference =
        |before: &[f64], after: &[f64]| -> Vec<f64> { before.iter().zip(after).map(|(x, y)| x - y).collect() };
    for p in 0..4 {
        let (h, g) = (open("in_H"), open("in_G"));
        let settings = AutoencoderKernelPca::new(3)
            .span(SpanChoice::Data)
            .start(given(h.part(p), g.part(p)))
            .scale(false)
            .learning_rate(1.0)
            .batch_size(1);
        let start = settings.clone().epochs(0).fit(&points).unwrap();
        let x = row(open("in_x").part(p));
        close(&start.losses(&x).unwrap(), open("out_loss").part(p), "loss");
        close(&start.encoder(), h.part(p), "encoder");
        // One step at a sample that is not in the span.
        // One of full length would be taken back: it makes the loss of the third case 479 times larger.
        let rate = 1e-3;
        let moved = |before: &[f64], after: &[f64]| -> Vec<f64> {
            difference(before, after).into_iter().map(|x| x / rate).collect()
        };
        let start = settings.clone().gradient(Gradient::Plain).learning_rate(rate).epochs(0);
        let mut plain = start.fit(&points).unwrap();
        plain.partial_fit(&x, &Watch::new()).unwrap();
        close(&moved(h.part(p), &plain.encoder()), open("out_dH").part(p), "dH");
        close(&moved(g.part(p), &plain.decoder()), open("out_dG").part(p), "dG");
        // One step at a point of the span.
        let functional = settings.order(vec![vec![p]]).fit(&points).unwrap();
        close(&difference(h.part(p), &functional.encoder()), open("out_fun_dH").part(p), "functional dH");
        close(&difference(g.part(p), &functional.decoder()), open("out_fun_dG").part(p), "functional dG");
    }
}

#[test]
fn coefficients_over_the_points_do_not_depend_on_the_scale_of_learning() {
    let open = |name| Array::open("cohen_ds", name);
    let points = open("in_X").points();
    let x = row(open("in_x").part(2));
    let model = AutoencoderKernelPca::new(3)
        .span(SpanChoice::Data)
        .start(given(open("in_H").part(2), open("in_G").part(2)))
        .epochs(0)
        .fit(&points)
        .unwrap();
    assert!(model.scale() > 1.0);
    close(&model.losses(&x).unwrap(), open("out_loss").part(2), "loss");
    close(&model.decoder(), open("in_G").part(2), "decoder");
    let d = 5;
    let span = model.span_points().unwrap();
    let coefficients = Mat::from_fn(3, 9, |j, i| open("in_H").part(2)[j * 9 + i]);
    let forms = forms_of_span(coefficients.as_ref(), span.as_ref());
    let values = x.row(0);
    let code = |j: usize| -> f64 {
        (0..d).map(|r| (0..d).map(|s| values[r] * forms[j][(r, s)] * values[s]).sum::<f64>()).sum()
    };
    let found = model.encode(&x).unwrap();
    close(&[found[(0, 0)], found[(0, 1)], found[(0, 2)]], &[code(0), code(1), code(2)], "codes");
}

#[test]
fn fifty_steps_lead_where_the_stored_ones_do() {
    let open = |name| Array::open("cohen_train", name);
    let points = open("in_X").points();
    let order: Vec<usize> = open("in_sgd_idx").values.iter().map(|&x| x as usize).collect();
    let model = AutoencoderKernelPca::new(2)
        .start(given(&open("in_A0").values, &open("in_B0").values))
        .learning_rate(open("par_eta0").values[0])
        .decay(open("par_tau").values[0])
        .batch_size(1)
        .order(vec![order])
        .fit(&points)
        .unwrap();
    close(&model.encoder(), &open("out_sgd_A").values, "encoder");
    close(&model.decoder(), &open("out_sgd_B").values, "decoder");
    assert_eq!(model.n_updates(), 50);
    let losses: Vec<f64> = model.history().iter().map(|entry| entry.loss).collect();
    close(&losses, &open("out_obj").values[..2], "losses");
}

#[test]
fn two_epochs_with_reduced_variance_lead_where_the_stored_ones_do() {
    let open = |name| Array::open("cohen_train", name);
    let idx = open("in_svrg_idx");
    let order: Vec<Vec<usize>> = (0..2).map(|epoch| idx.part(epoch).iter().map(|&x| x as usize).collect()).collect();
    let model = AutoencoderKernelPca::new(2)
        .optimizer(Optimizer::Svrg)
        .start(given(&open("in_A0").values, &open("in_B0").values))
        .learning_rate(open("par_svrg_eta").values[0])
        .batch_size(1)
        .order(order)
        .fit(&open("in_X").points())
        .unwrap();
    close(&model.encoder(), &open("out_svrg_A").values, "encoder");
    close(&model.decoder(), &open("out_svrg_B").values, "decoder");
    close(&[model.history()[2].loss], &open("out_obj").values[2..3], "loss");
}

#[test]
fn the_start_is_the_kernel_pca_solution() {
    let open = |name| Array::open("cohen_train", name);
    let points = open("in_X").points();
    let model = AutoencoderKernelPca::new(2).epochs(0).fit(&points).unwrap();
    let a = model.encoder();
    assert_eq!(a, model.decoder());
    let projector: Vec<f64> = (0..256).map(|at| a[at / 16] * a[at % 16] + a[16 + at / 16] * a[16 + at % 16]).collect();
    close(&projector, &open("out_kpca_projector").values, "projector");
    close(&[model.history()[0].loss], &open("out_obj").values[3..], "loss");
    let error = mean_squared_error(&model.reconstruct(&points).unwrap(), &points);
    close(&[error], &open("out_kpca_rec").values, "reconstruction error");
    // Over a span of all points it is the same solution.
    let span = AutoencoderKernelPca::new(2).span(SpanChoice::Data).epochs(0).fit(&points).unwrap();
    let error = mean_squared_error(&span.reconstruct(&points).unwrap(), &points);
    close(&[error], &open("out_kpca_rec").values, "reconstruction error over the span");
}

#[test]
fn the_linear_baseline_is_the_stored_one() {
    let open = |name| Array::open("cohen_train", name);
    let points = open("in_X").points();
    let pca = LinearPca::fit(&points, 2, Center::Yes).unwrap();
    let projector = pca.components() * pca.components().transpose();
    close(
        &(0..16).map(|at| projector[(at / 4, at % 4)]).collect::<Vec<_>>(),
        &open("out_pca_projector").values,
        "projector",
    );
    let error = mean_squared_error(&pca.reconstruct(&points).unwrap(), &points);
    close(&[error], &open("out_pca_rec").values, "reconstruction error");
    let uncentred = LinearPca::fit(&points, 2, Center::No).unwrap();
    assert!(mean_squared_error(&uncentred.reconstruct(&points).unwrap(), &points) > error);
}
