//! `mercer man`: manual pages.

use std::fmt::Write;
use std::fs;

use clap::CommandFactory;

use crate::args::{Cli, ManArgs};
use crate::console::print;
use crate::failure::{ExitStatus, Failure, Result};
use crate::output;

/// Runs the command: one page for `mercer`, one for each of its commands.
pub(super) fn run(args: &ManArgs) -> Result<ExitStatus> {
    fs::create_dir_all(&args.out).map_err(Failure::file("making", &args.out))?;
    let mut all = Cli::command();
    all.build();
    let whole = page("mercer", &all)?;
    let pages = all.get_subcommands().map(|command| page(&format!("mercer-{}", command.get_name()), command));
    let mut names = String::new();
    for (name, text) in std::iter::once(Ok(whole)).chain(pages).collect::<Result<Vec<_>>>()? {
        let path = args.out.join(name);
        output::write_text(&path, &text)?;
        let _ = writeln!(names, "{}", path.display());
    }
    print(&names)?;
    Ok(ExitStatus::Done)
}

/// The name and the text of a page.
fn page(name: &str, command: &clap::Command) -> Result<(String, String)> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut text)
        .map_err(|error| Failure::usage(format!("the manual page of {name} cannot be made: {error}")))?;
    Ok((format!("{name}.1"), String::from_utf8_lossy(&text).into_owned()))
}
