//! The settings of a fit that flags mean.

use std::path::Path;

use mercer::kernel::{ALIASES, KernelSpec, Width};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::online::{OnlineKernelPca, Rule};
use mercer::record::KernelRecord;
use mercer::{Center, GramChoice, Kernel, KernelChoice, KernelHebbianPca, KernelPca, Model, Points, Precision};

use crate::args::{
    FitGram, Gamma, HebbianArgs, HistoryArgs, KernelArgs, LandmarkArgs, LearningArgs, MethodName, NystromArgs,
    PrecisionChoice, SolveArgs, StreamArgs, StreamKernelArgs,
};
use crate::failure::{Failure, Result};

/// The settings that the flags mean.
pub(super) fn settings(kernel: &KernelArgs, solve: &SolveArgs, method: MethodName) -> KernelPca {
    let mut settings = KernelPca::new(kernel_spec(kernel))
        .center(if kernel.no_center { Center::No } else { Center::Yes })
        .negative(kernel.negative)
        .gram(method.gram)
        .solver(method.solver)
        .seed(solve.seed);
    if let Some(n_components) = solve.n_components {
        settings = settings.n_components(n_components);
    }
    if let Some(share) = solve.variance {
        settings = settings.variance(share);
    }
    if let Some(tolerance) = solve.tolerance {
        settings = settings.tolerance(tolerance);
    }
    if let Some(memory) = solve.memory {
        settings = settings.memory(memory);
    }
    if let Some(threads) = solve.threads {
        settings = settings.threads(threads);
    }
    if let Some(max_passes) = solve.max_passes {
        settings = settings.max_passes(max_passes);
    }
    match solve.precision {
        None => settings,
        Some(choice) => settings.precision(precision(choice)),
    }
}

/// The settings of the kernel Hebbian algorithm that the flags mean.
pub(super) fn hebbian_settings(
    kernel: &KernelArgs,
    solve: &SolveArgs,
    gram: GramChoice,
    hebbian: &HebbianArgs,
) -> KernelHebbianPca {
    let settings = gains(kernel_spec(kernel), hebbian)
        .center(if kernel.no_center { Center::No } else { Center::Yes })
        .negative(kernel.negative)
        .gram(gram)
        .seed(solve.seed);
    let settings = solve.n_components.into_iter().fold(settings, KernelHebbianPca::n_components);
    let settings = solve.tolerance.into_iter().fold(settings, KernelHebbianPca::tolerance);
    let settings = solve.memory.into_iter().fold(settings, KernelHebbianPca::memory);
    let settings = solve.threads.into_iter().fold(settings, KernelHebbianPca::threads);
    solve.precision.map(precision).into_iter().fold(settings, KernelHebbianPca::precision)
}

/// How far it goes, and what is looked at on the way.
pub(super) fn with_history(settings: KernelHebbianPca, history: HistoryArgs) -> KernelHebbianPca {
    let settings = history.length.updates.into_iter().fold(settings, KernelHebbianPca::updates);
    let settings = history.record_every.into_iter().fold(settings, KernelHebbianPca::record_every);
    let settings = history.record_error.into_iter().fold(settings, KernelHebbianPca::record_error);
    history.keep_every.into_iter().fold(settings, KernelHebbianPca::keep_every)
}

/// How the kernel Hebbian algorithm is to learn.
pub(super) fn gains(kernel: impl Into<KernelChoice>, hebbian: &HebbianArgs) -> KernelHebbianPca {
    let settings = KernelHebbianPca::new(kernel)
        .gain(hebbian.gain.unwrap_or_default())
        .refresh(hebbian.refresh.unwrap_or_default())
        .eta0(hebbian.eta0.unwrap_or_default())
        .mu(hebbian.mu.unwrap_or_default());
    let settings = hebbian.tau.into_iter().fold(settings, KernelHebbianPca::tau);
    let settings = hebbian.xi.into_iter().fold(settings, KernelHebbianPca::xi);
    let settings = hebbian.rho0.into_iter().fold(settings, KernelHebbianPca::rho0);
    let settings = hebbian.passes.into_iter().fold(settings, KernelHebbianPca::passes);
    hebbian.batch_size.into_iter().fold(settings, KernelHebbianPca::batch_size)
}

/// The settings of an online learner of rows with so many columns that the flags mean.
pub(super) fn online_settings(args: &StreamArgs, n_features: usize) -> mercer::Result<OnlineKernelPca> {
    let center = if args.kernel.no_center { Center::No } else { Center::Yes };
    let kernel = stream_kernel(&args.kernel, None).resolve(&any_row(n_features)?)?;
    let settings = OnlineKernelPca::new(kernel).center(center);
    // The rule finds no more, and nobody need say so.
    let settings = if args.learning.rule == Some(Rule::Oja) { settings.n_components(1) } else { settings };
    Ok(learning(settings, &args.learning))
}

/// A row of so many columns, before there are any: the width of a stream's kernel depends on nothing else of them.
fn any_row(n_features: usize) -> mercer::Result<Points> {
    Points::from_f64(vec![0.0; n_features], 1, n_features)
}

/// The settings of an online learner that begins as a model which the flags mean, as far as they do not contradict it.
pub(super) fn online_settings_for(args: &StreamArgs, model: &Model, name: &Path) -> Result<OnlineKernelPca> {
    let refuse = |flag: &str, is: &str| {
        Failure::usage(format!("{} {is}, and its components learn on: leave {flag} out", name.display()))
    };
    if args.kernel.no_center && model.centering().is_some() {
        return Err(refuse("--no-center", "is centred"));
    }
    if args.learning.start.is_some() {
        return Err(refuse("--start", "is a model"));
    }
    if let Some(flag) = args.kernel.first_flag()
        && !matches!(model.kernel(), Kernel::Precomputed)
    {
        let own = KernelRecord::from(model.kernel());
        let kernel = stream_kernel(&args.kernel, Some(&own)).resolve(&any_row(model.n_features())?)?;
        let asked = KernelRecord::from(&kernel);
        // A width sigma is not always to the bit what it is the other way round.
        let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-12 * b.abs(),
            (a, b) => a == b,
        };
        let is_same = (&asked.name, asked.degree) == (&own.name, own.degree)
            && near(asked.gamma, own.gamma)
            && near(asked.coef0, own.coef0)
            && near(asked.alpha, own.alpha);
        if !is_same {
            let gamma = own.gamma.map_or_else(String::new, |gamma| format!(" of gamma {gamma}"));
            return Err(refuse(flag, &format!("has the {} kernel{gamma}", own.name)));
        }
    }
    Ok(learning(OnlineKernelPca::for_model(model), &args.learning))
}

/// The same settings, with those that flags give of how components learn.
fn learning(settings: OnlineKernelPca, args: &LearningArgs) -> OnlineKernelPca {
    let settings = settings.rule(args.rule.unwrap_or_default()).schedule(args.schedule.unwrap_or_default());
    let settings = args.n_components.into_iter().fold(settings, OnlineKernelPca::n_components);
    let settings = args.rows_per_component.into_iter().fold(settings, OnlineKernelPca::rows_per_component);
    let settings = args.learning_rate.into_iter().fold(settings, OnlineKernelPca::learning_rate);
    let settings = args.tau.into_iter().fold(settings, OnlineKernelPca::tau);
    let settings = args.beta.into_iter().fold(settings, OnlineKernelPca::beta);
    let settings = args.budget.into_iter().fold(settings, OnlineKernelPca::budget);
    let settings = args.policy.into_iter().fold(settings, OnlineKernelPca::policy);
    args.forgetting.into_iter().fold(settings, OnlineKernelPca::forgetting)
}

/// The kernel that flags mean; what they leave open is as in a kernel that is known, if there is one.
fn stream_kernel(args: &StreamKernelArgs, known: Option<&KernelRecord>) -> KernelSpec {
    let name = args.kernel.as_deref().or(known.map(|known| known.name.as_str())).unwrap_or("gaussian");
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    // Of another kernel nothing is known.
    let known = known.filter(|known| known.name == name);
    let width = args.gamma.map(Width::Gamma).or(args.bandwidth.map(Width::Bandwidth));
    let width = width.or(known.and_then(|known| known.gamma).map(Width::Gamma));
    let spec = width.into_iter().fold(KernelSpec::new(name), KernelSpec::width);
    let spec = args.degree.or(known.and_then(|known| known.degree)).into_iter().fold(spec, KernelSpec::degree);
    let spec = args.coef0.or(known.and_then(|known| known.coef0)).into_iter().fold(spec, KernelSpec::coef0);
    args.alpha.or(known.and_then(|known| known.alpha)).into_iter().fold(spec, KernelSpec::alpha)
}

/// How products with the exact matrix are made, where landmarks were not asked for.
pub(super) const fn exact_gram(gram: FitGram) -> GramChoice {
    match gram {
        FitGram::Exact(gram) => gram,
        FitGram::Nystrom => GramChoice::Auto,
    }
}

/// The settings of kernel PCA over landmarks that the flags mean.
pub(super) fn nystrom_settings(
    kernel: &KernelArgs,
    solve: &SolveArgs,
    nystrom: &NystromArgs,
    chosen: Landmarks,
) -> NystromPca {
    let landmarks = landmark_settings(kernel, &nystrom.landmarks, chosen).seed(solve.seed);
    let landmarks = solve.memory.into_iter().fold(landmarks, Nystrom::memory);
    let landmarks = solve.threads.into_iter().fold(landmarks, Nystrom::threads);
    let landmarks = solve.precision.map(precision).into_iter().fold(landmarks, Nystrom::precision);
    let center = if kernel.no_center { Center::No } else { Center::Yes };
    let settings = NystromPca::new(landmarks).center(center);
    let settings = solve.n_components.into_iter().fold(settings, NystromPca::n_components);
    nystrom.accuracy.into_iter().fold(settings, NystromPca::accuracy)
}

/// These landmarks, and as many as the flags ask for.
pub(super) fn landmark_settings(kernel: &KernelArgs, args: &LandmarkArgs, chosen: Landmarks) -> Nystrom {
    let landmarks = Nystrom::new(kernel_spec(kernel)).landmarks(chosen);
    args.n_landmarks.into_iter().fold(landmarks, Nystrom::n_landmarks)
}

pub(super) const fn precision(choice: PrecisionChoice) -> Precision {
    match choice {
        PrecisionChoice::F32 => Precision::F32,
        PrecisionChoice::F64 => Precision::F64,
    }
}

pub(super) fn kernel_spec(args: &KernelArgs) -> KernelSpec {
    let width = args.gamma.or(args.bandwidth).map(|width| match width {
        Gamma::Value(gamma) if args.gamma.is_some() => Width::Gamma(gamma),
        Gamma::Value(sigma) => Width::Bandwidth(sigma),
        Gamma::Scale => Width::Scale,
        Gamma::Median => Width::Median,
        Gamma::Auto => Width::Auto,
    });
    let spec = KernelSpec::new(args.name());
    let spec = width.into_iter().fold(spec, KernelSpec::width);
    let spec = args.degree.into_iter().fold(spec, KernelSpec::degree);
    let spec = args.coef0.into_iter().fold(spec, KernelSpec::coef0);
    args.alpha.into_iter().fold(spec, KernelSpec::alpha)
}
