//! Larger pictures of a kind that is known: faces, digits, one product after the other.
//!
//! **Use it** when there are hundreds of pictures of the kind at the size that is wanted, all aligned. **Cost**: a kernel PCA of those pictures; then some
//! products with them per picture.
//!
//! # Method
//!
//! A small picture is interpolated to the size of the known ones and projected on their leading components under a gaussian kernel \[GSV07\]: what the
//! interpolation has blurred is not among the components, what known pictures share is. The pre-image \[MSS99\] of the projection has
//! details, but need not be a picture of the same thing. So what its means over blocks of pixels differ from the small picture by is interpolated
//! and added: the large picture, made small again, is nearly the small one. Its details are those of the known kind, whatever is on it.
//!
//! # References
//!
//! - \[GSV07\] Super-resolution of faces, section 5.1.3.
//! - \[MSS99\] Kernel PCA and de-noising in feature spaces.

mod resize;
mod settings;

pub use resize::{enlarged, reduced};
pub use settings::{PictureSpace, Upscaled, Upscaler, magnification};
