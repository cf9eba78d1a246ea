//! How good a signal without noise is, if the true one is known.

use crate::error::{Error, Result};

/// The ratio of signal to noise in decibel: ten times the logarithm of the variance of the true signal over the mean square of what is wrong.
///
/// The papers do not say which of several definitions they use; this one does not depend on the signal's mean. It is infinite for the true
/// signal itself.
///
/// ```
/// use mercer::denoise::snr;
///
/// let clean = [1.0, -1.0, 1.0, -1.0];
/// assert!((snr(&clean, &[1.1, -0.9, 0.9, -1.1])? - 20.0).abs() < 1e-9);
/// assert!(snr(&clean, &clean)?.is_infinite());
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If the two have different numbers of values, or the true signal is constant.
pub fn snr(clean: &[f64], estimate: &[f64]) -> Result<f64> {
    let wrong = mean_square(clean, estimate)?;
    let mean = clean.iter().sum::<f64>() / clean.len() as f64;
    let variance = clean.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / clean.len() as f64;
    if variance > 0.0 {
        Ok(10.0 * (variance / wrong).log10())
    } else {
        Err(Error::invalid("reference", "a signal that is not constant", "constant"))
    }
}

/// The share of the variance of the noise that is gone.
///
/// ```
/// use mercer::denoise::noise_removed;
///
/// let share = noise_removed(&[0.0, 0.0], &[1.0, -1.0], &[0.5, -0.5])?;
/// assert!((share - 0.75).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If the three have different numbers of values, or there was no noise.
pub fn noise_removed(clean: &[f64], noisy: &[f64], estimate: &[f64]) -> Result<f64> {
    let before = mean_square(clean, noisy)?;
    if before == 0.0 {
        return Err(Error::invalid("reference", "other than the noisy signal", "the same"));
    }
    Ok(1.0 - mean_square(clean, estimate)? / before)
}

/// The mean of the squared differences.
fn mean_square(clean: &[f64], other: &[f64]) -> Result<f64> {
    if clean.len() != other.len() || clean.is_empty() {
        let requirement = format!("as many values as the signal that it is compared with ({})", other.len());
        return Err(Error::invalid("reference", requirement, clean.len()));
    }
    Ok(clean.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / clean.len() as f64)
}
