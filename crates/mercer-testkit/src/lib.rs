//! What the tests of Mercer are made of. Not published.
//!
//! | module | what it holds |
//! |---|---|
//! | [`generate`] | data sets that are the same on every machine |
//! | [`reference`](mod@reference) | slow and obvious answers in double precision, which share no code with the library |
//! | [`twin`] | the Gram matrix by library matrix products, in the precision of the tiles |
//! | [`operator`] | Gram matrices of either precision behind one type |
//! | [`tolerance`] | what rounding may cost, entry by entry |
//! | [`contract`] | what every kernel, operator and solver must do |

pub mod contract;
pub mod generate;
pub mod operator;
pub mod reference;
pub mod tolerance;
pub mod twin;

pub use contract::{check_eigensolver, check_entry_access, check_kernel, check_symmetric_operator, context, same_bits};
pub use generate::{Cloud, Format};
pub use reference::Textbook;
pub use tolerance::Expected;
